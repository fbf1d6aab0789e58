package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// apply takes in one event.
func (m *Machine) apply(now time.Time, e Event) {
	switch e := e.(type) {
	case Remove:
		m.remove(now, e.Object)
	case Outcome:
		m.outcome(now, e)
	default:
		m.upsert(now, e)
	}
}

func (m *Machine) upsert(now time.Time, object any) {
	d := m.upsertVolume(object)
	m.volumesMoved = m.volumesMoved || d.Kinds != decision.NoChange
	switch o := object.(type) {
	case *model.Pod:
		m.upsertPod(now, o)
	case *model.Node:
		m.upsertNode(now, o)
	case *model.Eviction:
		m.assumePressure(now, o)
	case *model.Namespace:
		old, ok := m.state.NamespaceLabels(o.Name)
		if m.state.UpsertNamespace(*o); !ok || !equal(old, o.Labels) {
			d = delta(decision.NamespaceRelabel, nil, o)
		}
	case *model.Group:
		old := m.group(o)
		m.state.UpsertGroup(*o)
		d = delta(decision.GroupChanged, old, o)
	case *model.Budget:
		old := m.budget(o)
		m.state.UpsertBudget(o)
		d = delta(decision.BudgetChanged, old, o)
	case *model.PriorityClass:
		m.state.UpsertPriorityClass(o)
	case *model.ResourceClaim:
		old, _ := m.state.ResourceClaim(o.Namespace, o.Name)
		m.state.UpsertResourceClaim(o)
		d = delta(decision.DevicesChanged, old, o)
	case *model.Hold:
		m.upsertHold(now, o)
	}
	m.changed(now, d)
}

func (m *Machine) remove(now time.Time, object any) {
	d := m.removeVolume(object)
	m.volumesMoved = m.volumesMoved || d.Kinds != decision.NoChange
	switch o := object.(type) {
	case *model.Pod:
		m.removePod(now, o.UID)
	case *model.Node:
		m.removeNode(now, o.Name)
	case *model.Namespace:
		m.state.RemoveNamespace(o.Name)
		d = delta(decision.NamespaceRelabel, o, nil)
	case *model.Group:
		old := m.group(o)
		m.state.RemoveGroup(o.Kind, o.Namespace, o.Name)
		d = delta(decision.GroupChanged, old, nil)
	case *model.Budget:
		old := m.budget(o)
		m.state.RemoveBudget(o.Namespace, o.Name)
		d = delta(decision.BudgetChanged, old, nil)
	case *model.PriorityClass:
		m.state.RemovePriorityClass(o.Name)
	case *model.ResourceClaim:
		old, _ := m.state.ResourceClaim(o.Namespace, o.Name)
		m.state.RemoveResourceClaim(o.Namespace, o.Name)
		d = delta(decision.DevicesChanged, old, nil)
	case *model.Hold:
		m.heldNoMore(now, m.state.RemoveHold(o.Namespace, o.Name))
	}
	m.changed(now, d)
}

// group is what is known of a group; nil when nothing is.
func (m *Machine) group(o *model.Group) *model.Group {
	groups := m.state.Groups(o.Namespace)
	i := slices.IndexFunc(groups, func(g model.Group) bool { return g.Kind == o.Kind && g.Name == o.Name })
	if i < 0 {
		return nil
	}
	old := groups[i]
	return &old
}

// budget is what is known of a budget; nil when nothing is.
func (m *Machine) budget(o *model.Budget) *model.Budget {
	for _, b := range m.state.Budgets(o.Namespace) {
		if b.Name == o.Name {
			return b
		}
	}
	return nil
}
