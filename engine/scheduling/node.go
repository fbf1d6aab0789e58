package scheduling

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// upsertNode takes in a node and says in what it became more schedulable.
func (m *Machine) upsertNode(n *model.Node) decision.Change {
	id, ok := m.state.NodeID(n.Name)
	if !ok {
		m.state.UpsertNode(n)
		return decision.NodeAdded
	}
	change := nodeChange(m.state.Node(id).Model, n)
	m.state.UpsertNode(n)
	return change
}

// nodeChange compares two states of a node. Less of a resource and a node that
// became unschedulable can help nobody.
func nodeChange(old, now *model.Node) decision.Change {
	if old.UID != now.UID {
		return decision.NodeAdded | decision.NodeRemoved
	}
	var c decision.Change
	if now.Pods > old.Pods || anyMore(&now.Allocatable, &old.Allocatable) {
		c |= decision.NodeAllocatable
	}
	if !equal(old.Labels, now.Labels) {
		c |= decision.NodeLabels
	}
	if !slices.Equal(old.Taints, now.Taints) {
		c |= decision.NodeTaints
	}
	if old.Unschedulable && !now.Unschedulable {
		c |= decision.NodeSchedulable
	}
	if !slices.Equal(old.Features, now.Features) {
		c |= decision.NodeFeatures
	}
	return c
}

// anyMore says whether a has more than b of any resource.
func anyMore(a, b *model.Requests) bool {
	if a.MilliCPU > b.MilliCPU || a.Memory > b.Memory || a.Ephemeral > b.Ephemeral {
		return true
	}
	for i := range a.Scalars {
		if a.Scalars[i].Amount > b.Scalar(a.Scalars[i].Name) {
			return true
		}
	}
	return false
}

func equal(a, b model.Labels) bool { return slices.Equal(a, b) }
