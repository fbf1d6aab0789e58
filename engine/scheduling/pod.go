package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
)

// upsertPod takes in a pod: a new one, a change, or what became of an attempt.
func (m *Machine) upsertPod(now time.Time, p *model.Pod) {
	if _, ours := m.placers[p.Spec.SchedulerName]; !ours {
		p = p.Unnominated() // who nominated it keeps that room, as nobody else knows of it
	}
	old := m.state.Pod(p.UID)
	if old != nil && old.NodeName != "" && p.NodeName == "" && !m.state.Assumed(p.UID) {
		return // a report from before the bind, which a Look has overtaken
	}
	p = m.shown(now, m.marked(p))
	held := m.state.HoldsVolumes(p.UID)
	m.state.UpsertPod(p)
	if p.Evicted != nil {
		m.assumePressure(now, p.Evicted)
	}
	if p.NodeName != "" || p.Finished() {
		m.settled(now, p)
		m.unsay(p.UID)
		m.queue.Remove(p.UID)
		m.endNominee(now, p.UID)
		m.changed(now, delta(podChange(old, p), old, p))
		m.volumesFreed(now, held)
		if counted(old) && p.Finished() {
			m.left(now, old)
		}
		return
	}
	if a, ok := m.byPod[p.UID]; ok {
		if is := m.state.Pod(p.UID); counted(old) { // it takes room already, as it is now
			m.changed(now, delta(podChange(old, is), old, is))
		}
		m.upsertAttempted(now, a, p)
		return
	}
	if old != nil && old.Nominated != "" && (old.Nominated != p.Nominated || !equal(old.Labels, p.Labels)) {
		m.freed(now, old)
	}
	if p.Nominated != "" && (p.Deleting || old != nil && old.Spec != p.Spec) { // what was chosen for it is void
		m.unnominate(now, p)
		p = m.state.Pod(p.UID)
	}
	if m.queue.Where(p.UID) == queue.Nowhere || !m.wanted(p) {
		m.requeue(now, p)
		return
	}
	moves := old == nil || old.Spec != p.Spec || !equal(old.Labels, p.Labels)
	if moves && m.queue.Where(p.UID) != queue.InFlight {
		if v := m.placers[p.Spec.SchedulerName].Gate(p); v != nil {
			m.hold(now, p, v)
			return
		}
	}
	m.queue.Update(now, queued(p), moves)
}

// upsertAttempted takes in a change of a pod that has an attempt, whose outcome decides;
// what is new is read then. Where nothing was asked of the pod yet, one that is on its way
// out is given up at once.
func (m *Machine) upsertAttempted(now time.Time, a *attempt, p *model.Pod) {
	if p.Deleting && a.stage.unsent() {
		m.over(p.UID)
		m.forget(now, p.UID)
		m.queue.Remove(p.UID)
		return
	}
	if a.stage == asking {
		m.queue.Update(now, queued(p), true)
	}
}

// wanted says whether a pending pod is ours to place.
func (m *Machine) wanted(p *model.Pod) bool {
	_, ours := m.placers[p.Spec.SchedulerName]
	return ours && !p.Deleting
}

// requeue brings the queue in line with a pending pod that has no attempt: it
// enters it if it is ours and not there, and leaves it if it is not.
func (m *Machine) requeue(now time.Time, p *model.Pod) {
	if !m.wanted(p) {
		m.queue.Remove(p.UID)
		return
	}
	if m.queue.Where(p.UID) != queue.Nowhere {
		return
	}
	if v := m.placers[p.Spec.SchedulerName].Gate(p); v != nil {
		m.hold(now, p, v)
		return
	}
	m.queue.Enter(now, queued(p))
}

// removePod takes in that a pod is gone, which frees its room, assumed,
// nominated or real.
func (m *Machine) removePod(now time.Time, uid string) {
	old := m.state.Pod(uid)
	if old == nil {
		return
	}
	m.over(uid)
	m.unsay(uid)
	m.queue.Remove(uid)
	m.endNominee(now, uid)
	held := m.state.HoldsVolumes(uid)
	m.state.RemovePod(uid)
	m.volumesFreed(now, held)
	if counted(old) || old.Nominated != "" {
		m.freed(now, old)
	}
	m.left(now, old)
}

// counted says whether a pod takes room on a node.
func counted(p *model.Pod) bool { return p != nil && p.NodeName != "" && !p.Finished() }

// podChange compares a pod that is bound or finished with what was known of it.
func podChange(old, p *model.Pod) decision.Change {
	switch was, is := counted(old), counted(p); {
	case was && !is:
		return decision.PodRemoved
	case !was && !is:
		if old != nil && old.Nominated != "" && !old.Finished() {
			return decision.PodRemoved // it held room there
		}
		return decision.NoChange
	case !was:
		c := decision.PodAssigned
		if old != nil && old.Nominated != "" && old.Nominated != p.NodeName {
			c |= decision.PodRemoved
		}
		return c
	case old.NodeName != p.NodeName:
		return decision.PodAssigned | decision.PodRemoved
	}
	var c decision.Change
	if !equal(old.Labels, p.Labels) {
		c |= decision.PodRelabelled
	}
	if old.Deleting != p.Deleting {
		c |= decision.PodLeaving
	}
	switch {
	case old.Spec == p.Spec:
	case !stands(old.Spec, p.Spec):
		c |= decision.PodAssigned | decision.PodRemoved
	case anyMore(&old.Spec.Requests, &p.Spec.Requests):
		c |= decision.PodScaledDown
	}
	return c
}

// stands says whether two specifications of an assigned pod mean the same to others but for
// the resources, which are all that the API lets change.
func stands(a, b *model.PodSpec) bool {
	return a.Priority == b.Priority && len(a.Ports) == len(b.Ports) && len(a.Claims) == len(b.Claims) &&
		len(a.Affinity) == len(b.Affinity) && len(a.AntiAffinity) == len(b.AntiAffinity)
}
