package scheduling

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

func (m *Machine) handleEvent(now time.Time, e Event) {
	switch e := e.(type) {
	case Remove:
		m.remove(now, e.Object)
	case Outcome:
		m.handleOutcome(now, e)
	default:
		m.upsert(now, e)
	}
}

func (m *Machine) upsert(now time.Time, object any) {
	d := m.upsertVolume(object)
	m.volumesChanged = m.volumesChanged || d.Events != decision.NoEvent
	switch o := object.(type) {
	case *model.Pod:
		m.upsertPod(now, o)
	case *model.Node:
		m.upsertNode(now, o)
	case *model.NodeEviction:
		m.assumePressure(now, o)
	case *model.Namespace:
		old, ok := m.state.NamespaceLabels(o.Name)
		if m.state.UpsertNamespace(*o); !ok || !equalLabels(old, o.Labels) {
			d = delta(decision.NamespaceLabelsChanged, nil, o)
		}
	case *model.SpreadGroup:
		old := m.findGroup(o)
		m.state.UpsertSpreadGroup(*o)
		d = delta(decision.SpreadGroupChanged, old, o)
	case *model.Budget:
		old := m.findBudget(o)
		m.state.UpsertBudget(o)
		d = delta(decision.BudgetChanged, old, o)
	case *model.PriorityClass:
		m.state.UpsertPriorityClass(o)
	case *model.ResourceClaim:
		old, _ := m.state.ResourceClaim(o.Namespace, o.Name)
		m.state.UpsertResourceClaim(o)
		d = delta(decision.ResourceClaimChanged, old, o)
	case *model.Hold:
		m.upsertHold(now, o)
	}
	m.notifyChange(now, d)
}

func (m *Machine) remove(now time.Time, object any) {
	d := m.removeVolume(object)
	m.volumesChanged = m.volumesChanged || d.Events != decision.NoEvent
	switch o := object.(type) {
	case *model.Pod:
		m.removePod(now, o.UID)
	case *model.Node:
		m.removeNode(now, o.Name)
	case *model.Namespace:
		m.state.RemoveNamespace(o.Name)
		d = delta(decision.NamespaceLabelsChanged, o, nil)
	case *model.SpreadGroup:
		old := m.findGroup(o)
		m.state.RemoveSpreadGroup(o.Kind, o.Namespace, o.Name)
		d = delta(decision.SpreadGroupChanged, old, nil)
	case *model.Budget:
		old := m.findBudget(o)
		m.state.RemoveBudget(o.Namespace, o.Name)
		d = delta(decision.BudgetChanged, old, nil)
	case *model.PriorityClass:
		m.state.RemovePriorityClass(o.Name)
	case *model.ResourceClaim:
		old, _ := m.state.ResourceClaim(o.Namespace, o.Name)
		m.state.RemoveResourceClaim(o.Namespace, o.Name)
		d = delta(decision.ResourceClaimChanged, old, nil)
	case *model.Hold:
		m.releaseHold(now, m.state.RemoveHold(o.Namespace, o.Name))
	}
	m.notifyChange(now, d)
}

// findGroup returns the group as the state has it, or nil.
func (m *Machine) findGroup(o *model.SpreadGroup) *model.SpreadGroup {
	groups := m.state.SpreadGroups(o.Namespace)
	i := slices.IndexFunc(groups, func(g model.SpreadGroup) bool { return g.Kind == o.Kind && g.Name == o.Name })
	if i < 0 {
		return nil
	}
	old := groups[i]
	return &old
}

// findBudget returns the budget as the state has it, or nil.
func (m *Machine) findBudget(o *model.Budget) *model.Budget {
	for _, b := range m.state.Budgets(o.Namespace) {
		if b.Name == o.Name {
			return b
		}
	}
	return nil
}

// updateBudget applies a budget from the outcome of a Preempt. The watch may be ahead of that
// outcome, so an older version must not replace a newer one or restore a budget deleted since.
func (m *Machine) updateBudget(now time.Time, n *nomination, b *model.Budget) {
	current := m.findBudget(b)
	switch {
	case current != nil && older(b.ResourceVersion, current.ResourceVersion):
	case current == nil && slices.ContainsFunc(n.plan.Debits, func(d decision.Debit) bool { return d.Budget.Namespace == b.Namespace && d.Budget.Name == b.Name }):
	default:
		m.upsert(now, b)
	}
}

// older reports whether resource version a is older than b. Versions are decimal numbers; an empty
// version is not older.
func older(a, b string) bool {
	return a != "" && cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) < 0
}
