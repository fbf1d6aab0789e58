package cluster

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// UpsertNamespace takes notice of a namespace and its labels.
func (s *State) UpsertNamespace(n model.Namespace) {
	s.revision++
	old, known := s.spaces.get(n.Name)
	s.spaces.put(n.Name, n.Labels)
	if !known || !slices.Equal(old, n.Labels) {
		s.index.namespaceChanged(n.Name)
	}
}

// RemoveNamespace forgets a namespace.
func (s *State) RemoveNamespace(name string) {
	s.revision++
	s.spaces.del(name)
	s.index.namespaceChanged(name)
}

// NamespaceLabels are the labels of a namespace and whether it is known.
func (s *State) NamespaceLabels(name string) (model.Labels, bool) { return s.spaces.get(name) }

func groupOrder(a, b model.Group) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// UpsertGroup takes notice of a Service, ReplicationController, ReplicaSet or
// StatefulSet.
func (s *State) UpsertGroup(g model.Group) {
	s.revision++
	list, _ := s.groups.get(g.Namespace)
	list = slices.Clone(list)
	i, found := slices.BinarySearchFunc(list, g, groupOrder)
	known := found && slices.Equal(AppendSelector(nil, list[i].Selector), AppendSelector(nil, g.Selector))
	if found {
		list[i] = g
	} else {
		list = slices.Insert(list, i, g)
	}
	s.groups.put(g.Namespace, list)
	if !known {
		s.index.groupsChanged(g.Namespace)
	}
}

// RemoveGroup forgets one.
func (s *State) RemoveGroup(kind, namespace, name string) {
	s.revision++
	list, _ := s.groups.get(namespace)
	i, found := slices.BinarySearchFunc(list, model.Group{Kind: kind, Name: name}, groupOrder)
	if !found {
		return
	}
	s.groups.put(namespace, slices.Delete(slices.Clone(list), i, i+1))
	s.index.groupsChanged(namespace)
}

// Groups are the groups of a namespace, sorted by kind and name. The slice must
// not be changed.
func (s *State) Groups(namespace string) []model.Group {
	list, _ := s.groups.get(namespace)
	return list
}

func budgetOrder(a *model.Budget, name string) int { return cmp.Compare(a.Name, name) }

// UpsertBudget takes notice of a PodDisruptionBudget.
func (s *State) UpsertBudget(b *model.Budget) {
	s.revision++
	s.budgetsVersion++
	list, _ := s.budgets.get(b.Namespace)
	list = slices.Clone(list)
	i, found := slices.BinarySearchFunc(list, b.Name, budgetOrder)
	if found {
		list[i] = b
	} else {
		list = slices.Insert(list, i, b)
	}
	s.budgets.put(b.Namespace, list)
}

// RemoveBudget forgets one.
func (s *State) RemoveBudget(namespace, name string) {
	s.revision++
	s.budgetsVersion++
	list, _ := s.budgets.get(namespace)
	if i, found := slices.BinarySearchFunc(list, name, budgetOrder); found {
		s.budgets.put(namespace, slices.Delete(slices.Clone(list), i, i+1))
	}
}

// Budgets are the budgets of a namespace, sorted by name. The slice must not be
// changed.
func (s *State) Budgets(namespace string) []*model.Budget {
	list, _ := s.budgets.get(namespace)
	return list
}

// UpsertPriorityClass takes notice of a priority class.
func (s *State) UpsertPriorityClass(c *model.PriorityClass) {
	s.revision++
	s.classes.put(c.Name, c)
}

// RemovePriorityClass forgets one.
func (s *State) RemovePriorityClass(name string) {
	s.revision++
	s.classes.del(name)
}

// PriorityClass returns a priority class by name; nil when it is not known.
func (s *State) PriorityClass(name string) *model.PriorityClass {
	c, _ := s.classes.get(name)
	return c
}
