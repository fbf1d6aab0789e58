package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// apply takes in one event.
func (m *Machine) apply(now time.Time, e Event) {
	switch e := e.(type) {
	case Upsert:
		m.upsert(now, e.Object)
	case Remove:
		m.remove(now, e.Object)
	case Outcome:
		m.outcome(now, e)
	}
}

func (m *Machine) upsert(now time.Time, object any) {
	change := m.upsertVolume(object)
	m.volumesMoved = m.volumesMoved || change != decision.NoChange
	switch o := object.(type) {
	case *model.Pod:
		m.upsertPod(now, o)
	case *model.Node:
		change = m.upsertNode(o)
	case *model.Namespace:
		old, ok := m.state.NamespaceLabels(o.Name)
		if m.state.UpsertNamespace(*o); !ok || !equal(old, o.Labels) {
			change = decision.NamespaceRelabel
		}
	case *model.Group:
		m.state.UpsertGroup(*o)
		change = decision.GroupChanged
	case *model.Budget:
		m.state.UpsertBudget(o)
		change = decision.BudgetChanged
	case *model.PriorityClass:
		m.state.UpsertPriorityClass(o)
	case *model.ResourceClaim:
		m.state.UpsertResourceClaim(o)
		change = decision.DevicesChanged
	}
	m.changed(now, decision.Delta{Kinds: change, New: object})
}

func (m *Machine) remove(now time.Time, object any) {
	change := m.removeVolume(object)
	m.volumesMoved = m.volumesMoved || change != decision.NoChange
	switch o := object.(type) {
	case *model.Pod:
		m.removePod(now, o.UID)
	case *model.Node:
		m.nodeGone(now, o.Name)
		m.state.RemoveNode(o.Name)
		change = decision.NodeRemoved
	case *model.Namespace:
		m.state.RemoveNamespace(o.Name)
	case *model.Group:
		m.state.RemoveGroup(o.Kind, o.Namespace, o.Name)
		change = decision.GroupChanged
	case *model.Budget:
		m.state.RemoveBudget(o.Namespace, o.Name)
		change = decision.BudgetChanged
	case *model.PriorityClass:
		m.state.RemovePriorityClass(o.Name)
	case *model.ResourceClaim:
		m.state.RemoveResourceClaim(o.Namespace, o.Name)
		change = decision.DevicesChanged
	}
	m.changed(now, decision.Delta{Kinds: change, New: object})
}
