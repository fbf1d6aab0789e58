package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// upsertNode applies a node. The pods of a new node count from now on.
func (m *Machine) upsertNode(now time.Time, n *model.Node) {
	n = m.withAssumedPressure(now, n)
	id, ok := m.state.NodeID(n.Name)
	if !ok {
		m.evaluateResizes(n.Name)
		m.state.UpsertNode(n)
		m.notifyChange(now, delta(decision.NodeAdded, nil, n))
		id, _ = m.state.NodeID(n.Name)
		m.eachPod(id, func(p *model.Pod) { m.notifyChange(now, delta(decision.PodAssigned, nil, p)) })
		return
	}
	old := m.state.Node(id).Model
	m.state.UpsertNode(n)
	if old.NoResizePreemption != n.NoResizePreemption || old.AllocatablePods != n.AllocatablePods || anyGreater(&old.Allocatable, &n.Allocatable) || anyGreater(&n.Allocatable, &old.Allocatable) {
		m.evaluateResizes(n.Name)
	}
	m.notifyChange(now, delta(nodeChange(old, n), old, n))
	if invalidatesNominations(old, n) {
		m.eachNominated(id, func(p *model.Pod) { m.queue.Update(now, queuePod(p), true) })
	}
}

func (m *Machine) removeNode(now time.Time, name string) {
	id, ok := m.state.NodeID(name)
	if !ok {
		return
	}
	m.clearNodeNominations(now, name)
	m.dropPressure(name)
	old := m.state.Node(id).Model
	pods := slices.Clone(m.state.Node(id).Pods)
	m.state.RemoveNode(name)
	m.evaluateResizes(name)
	m.notifyChange(now, delta(decision.NodeRemoved, old, nil))
	for _, p := range pods {
		m.notifyFreed(now, p)
	}
}

func (m *Machine) eachPod(id cluster.NodeID, f func(*model.Pod)) {
	for _, p := range slices.Clone(m.state.Node(id).Pods) {
		f(p)
	}
}

// nodeChange returns how a node changed in ways that can make pods schedulable. Fewer
// resources and a cordon cannot.
func nodeChange(old, current *model.Node) decision.ClusterEvents {
	if old.UID != current.UID {
		return decision.NodeAdded | decision.NodeRemoved
	}
	var c decision.ClusterEvents
	if current.AllocatablePods > old.AllocatablePods || anyGreater(&current.Allocatable, &old.Allocatable) {
		c |= decision.NodeAllocatableChanged
	}
	if !equalLabels(old.Labels, current.Labels) {
		c |= decision.NodeLabelsChanged
	}
	if !slices.Equal(old.Taints, current.Taints) {
		c |= decision.NodeTaintsChanged
	}
	if old.Unschedulable && !current.Unschedulable {
		c |= decision.NodeUncordoned
	}
	if !slices.Equal(old.Features, current.Features) {
		c |= decision.NodeFeaturesChanged
	}
	return c
}

// invalidatesNominations reports whether a change may make the node infeasible for pods nominated
// to it, so that they must be scheduled again.
func invalidatesNominations(old, current *model.Node) bool {
	return !old.Unschedulable && current.Unschedulable || anyGreater(&old.Allocatable, &current.Allocatable) ||
		old.AllocatablePods > current.AllocatablePods || !equalLabels(old.Labels, current.Labels) || !slices.Equal(old.Taints, current.Taints) || !slices.Equal(old.Features, current.Features)
}

// anyGreater reports whether a has more than b of any resource.
func anyGreater(a, b *model.Resources) bool {
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

func equalLabels(a, b model.Labels) bool { return slices.Equal(a, b) }
