package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// upsertNode takes in a node. The pods of a node that was not known until now count from
// now on, as if they came.
func (m *Machine) upsertNode(now time.Time, n *model.Node) {
	n = m.underPressure(now, n)
	id, known := m.state.NodeID(n.Name)
	if !known {
		m.state.UpsertNode(n)
		m.changed(now, delta(decision.NodeAdded, nil, n))
		id, _ = m.state.NodeID(n.Name)
		m.each(id, func(p *model.Pod) { m.changed(now, delta(decision.PodAssigned, nil, p)) })
		return
	}
	old := m.state.Node(id).Model
	m.state.UpsertNode(n)
	m.changed(now, delta(nodeChange(old, n), old, n))
	if lost(old, n) {
		m.eachNominated(id, func(p *model.Pod) { m.queue.Update(now, queued(p), true) })
	}
}

// removeNode takes in that a node is gone. Its pods do not count any more.
func (m *Machine) removeNode(now time.Time, name string) {
	id, known := m.state.NodeID(name)
	if !known {
		return
	}
	m.nodeGone(now, name)
	m.dropPressure(name)
	old := m.state.Node(id).Model
	pods := slices.Clone(m.state.Node(id).Pods)
	m.state.RemoveNode(name)
	m.changed(now, delta(decision.NodeRemoved, old, nil))
	for _, p := range pods {
		m.freed(now, p)
	}
}

func (m *Machine) each(id cluster.NodeID, f func(*model.Pod)) {
	for _, p := range slices.Clone(m.state.Node(id).Pods) {
		f(p)
	}
}

// nodeChange says in what a node became more schedulable, or other than it was. Less
// of a resource and a node that became unschedulable can help nobody.
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

// lost says whether a node may be out of the question for those that are nominated
// to it, who are free then to make room elsewhere.
func lost(old, now *model.Node) bool {
	return !old.Unschedulable && now.Unschedulable || anyMore(&old.Allocatable, &now.Allocatable) ||
		!equal(old.Labels, now.Labels) || !slices.Equal(old.Taints, now.Taints) || !slices.Equal(old.Features, now.Features)
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
