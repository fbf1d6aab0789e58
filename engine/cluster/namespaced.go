package cluster

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// UpsertNamespace adds or updates a namespace.
func (s *State) UpsertNamespace(n model.Namespace) {
	s.revision++
	old, ok := s.namespaces.get(n.Name)
	s.namespaces.put(n.Name, n.Labels)
	if !ok || !slices.Equal(old, n.Labels) {
		s.index.namespaceChanged(n.Name)
	}
}

// RemoveNamespace deletes a namespace.
func (s *State) RemoveNamespace(name string) {
	s.revision++
	s.namespaces.del(name)
	s.index.namespaceChanged(name)
}

// NamespaceLabels returns the labels of a namespace and whether it exists.
func (s *State) NamespaceLabels(name string) (model.Labels, bool) { return s.namespaces.get(name) }

func compareGroups(a, b model.SpreadGroup) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// UpsertSpreadGroup adds or updates a Service, ReplicationController, ReplicaSet or
// StatefulSet.
func (s *State) UpsertSpreadGroup(g model.SpreadGroup) {
	s.revision++
	list, _ := s.spreadGroups.get(g.Namespace)
	list = slices.Clone(list)
	i, found := slices.BinarySearchFunc(list, g, compareGroups)
	unchanged := found && slices.Equal(AppendSelector(nil, list[i].Selector), AppendSelector(nil, g.Selector))
	if found {
		list[i] = g
	} else {
		list = slices.Insert(list, i, g)
	}
	s.spreadGroups.put(g.Namespace, list)
	if !unchanged {
		s.index.spreadGroupsChanged(g.Namespace)
	}
}

// RemoveSpreadGroup deletes a spread group.
func (s *State) RemoveSpreadGroup(kind, namespace, name string) {
	s.revision++
	list, _ := s.spreadGroups.get(namespace)
	i, found := slices.BinarySearchFunc(list, model.SpreadGroup{Kind: kind, Name: name}, compareGroups)
	if !found {
		return
	}
	s.spreadGroups.put(namespace, slices.Delete(slices.Clone(list), i, i+1))
	s.index.spreadGroupsChanged(namespace)
}

// SpreadGroups returns the spread groups of a namespace, sorted by kind and name. The
// slice must not be changed.
func (s *State) SpreadGroups(namespace string) []model.SpreadGroup {
	list, _ := s.spreadGroups.get(namespace)
	return list
}

func compareBudgetName(a *model.Budget, name string) int { return cmp.Compare(a.Name, name) }

// UpsertBudget adds or updates a PodDisruptionBudget.
func (s *State) UpsertBudget(b *model.Budget) {
	s.revision++
	s.budgetsVersion++
	list, _ := s.budgets.get(b.Namespace)
	list = slices.Clone(list)
	i, found := slices.BinarySearchFunc(list, b.Name, compareBudgetName)
	if found {
		list[i] = b
	} else {
		list = slices.Insert(list, i, b)
	}
	s.budgets.put(b.Namespace, list)
}

// RemoveBudget deletes a PodDisruptionBudget.
func (s *State) RemoveBudget(namespace, name string) {
	s.revision++
	s.budgetsVersion++
	list, _ := s.budgets.get(namespace)
	if i, found := slices.BinarySearchFunc(list, name, compareBudgetName); found {
		s.budgets.put(namespace, slices.Delete(slices.Clone(list), i, i+1))
	}
}

// Budgets returns the budgets of a namespace, sorted by name. The slice must not be
// changed.
func (s *State) Budgets(namespace string) []*model.Budget {
	list, _ := s.budgets.get(namespace)
	return list
}

// UpsertPriorityClass adds or updates a priority class.
func (s *State) UpsertPriorityClass(c *model.PriorityClass) {
	s.revision++
	s.priorityClasses.put(c.Name, c)
}

// RemovePriorityClass deletes a priority class.
func (s *State) RemovePriorityClass(name string) {
	s.revision++
	s.priorityClasses.del(name)
}

// PriorityClass returns a priority class by name; nil if it does not exist.
func (s *State) PriorityClass(name string) *model.PriorityClass {
	c, _ := s.priorityClasses.get(name)
	return c
}
