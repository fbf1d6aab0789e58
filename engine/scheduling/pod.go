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
		p = p.WithoutNomination() // who nominated it keeps that room, as nobody else knows of it
	}
	old := m.state.Pod(p.UID)
	if old != nil && old.NodeName != "" && p.NodeName == "" && !m.state.Assumed(p.UID) {
		return // a report from before the bind, which a Look has overtaken
	}
	p = m.withNomination(now, m.applyVictimMark(p))
	held := m.state.HasAssumedVolumes(p.UID)
	m.state.UpsertPod(p)
	if p.Evicted != nil {
		m.assumePressure(now, p.Evicted)
	}
	if p.NodeName != "" || p.Finished() {
		m.completeAttempt(now, p)
		m.dropReport(p.UID)
		m.queue.Remove(p.UID)
		m.endNomination(now, p.UID)
		m.notifyChange(now, delta(podChange(old, p), old, p))
		m.notifyVolumesFreed(now, held)
		if occupiesNode(old) && p.Finished() {
			m.handlePodGone(now, old)
		}
		return
	}
	if a, ok := m.attempts[p.UID]; ok {
		if is := m.state.Pod(p.UID); occupiesNode(old) { // it takes room already, as it is now
			m.notifyChange(now, delta(podChange(old, is), old, is))
		}
		m.updateAttemptedPod(now, a, p)
		return
	}
	if old != nil && old.NominatedNodeName != "" && (old.NominatedNodeName != p.NominatedNodeName || !equalLabels(old.Labels, p.Labels)) {
		m.notifyFreed(now, old)
	}
	if p.NominatedNodeName != "" && (p.Deleting || old != nil && old.Spec != p.Spec) { // what was chosen for it is void
		m.clearNomination(now, p)
		p = m.state.Pod(p.UID)
	}
	if m.queue.PoolOf(p.UID) == queue.NotQueued || !m.responsibleFor(p) {
		m.requeue(now, p)
		return
	}
	moves := old == nil || old.Spec != p.Spec || !equalLabels(old.Labels, p.Labels)
	if moves && m.queue.PoolOf(p.UID) != queue.InFlight {
		if v := m.placers[p.Spec.SchedulerName].Gate(p); v != nil {
			m.gatePod(now, p, v)
			return
		}
	}
	m.queue.Update(now, queuePod(p), moves)
}

// updateAttemptedPod takes in a change of a pod that has an attempt, whose outcome decides;
// what is new is read then. Where nothing was asked of the pod yet, one that is on its way
// out is given up at once.
func (m *Machine) updateAttemptedPod(now time.Time, a *attempt, p *model.Pod) {
	if p.Deleting && a.stage.beforeBind() {
		m.endAttempt(p.UID)
		m.forgetAssumed(now, p.UID)
		m.queue.Remove(p.UID)
		return
	}
	if a.stage == callingExtenders {
		m.queue.Update(now, queuePod(p), true)
	}
}

// responsibleFor says whether a pending pod is ours to place.
func (m *Machine) responsibleFor(p *model.Pod) bool {
	_, ours := m.placers[p.Spec.SchedulerName]
	return ours && !p.Deleting
}

// requeue brings the queue in line with a pending pod that has no attempt: it
// enters it if it is ours and not there, and leaves it if it is not.
func (m *Machine) requeue(now time.Time, p *model.Pod) {
	if !m.responsibleFor(p) {
		m.queue.Remove(p.UID)
		return
	}
	if m.queue.PoolOf(p.UID) != queue.NotQueued {
		return
	}
	if v := m.placers[p.Spec.SchedulerName].Gate(p); v != nil {
		m.gatePod(now, p, v)
		return
	}
	m.queue.Add(now, queuePod(p))
}

// removePod takes in that a pod is gone, which frees its room, assumed,
// nominated or real.
func (m *Machine) removePod(now time.Time, uid string) {
	old := m.state.Pod(uid)
	if old == nil {
		return
	}
	m.endAttempt(uid)
	m.dropReport(uid)
	m.queue.Remove(uid)
	m.endNomination(now, uid)
	held := m.state.HasAssumedVolumes(uid)
	m.state.RemovePod(uid)
	m.notifyVolumesFreed(now, held)
	if occupiesNode(old) || old.NominatedNodeName != "" {
		m.notifyFreed(now, old)
	}
	m.handlePodGone(now, old)
}

// occupiesNode says whether a pod takes room on a node.
func occupiesNode(p *model.Pod) bool { return p != nil && p.NodeName != "" && !p.Finished() }

// podChange compares a pod that is bound or finished with what was known of it.
func podChange(old, p *model.Pod) decision.ClusterEvents {
	switch was, is := occupiesNode(old), occupiesNode(p); {
	case was && !is:
		return decision.PodRemoved
	case !was && !is:
		if old != nil && old.NominatedNodeName != "" && !old.Finished() {
			return decision.PodRemoved // it held room there
		}
		return decision.NoEvent
	case !was:
		c := decision.PodAssigned
		if old != nil && old.NominatedNodeName != "" && old.NominatedNodeName != p.NodeName {
			c |= decision.PodRemoved
		}
		return c
	case old.NodeName != p.NodeName:
		return decision.PodAssigned | decision.PodRemoved
	}
	var c decision.ClusterEvents
	if !equalLabels(old.Labels, p.Labels) {
		c |= decision.PodLabelsChanged
	}
	if old.Deleting != p.Deleting {
		c |= decision.PodTerminating
	}
	switch {
	case old.Spec == p.Spec:
	case !equalButResources(old.Spec, p.Spec):
		c |= decision.PodAssigned | decision.PodRemoved
	case anyGreater(&old.Spec.Requests, &p.Spec.Requests):
		c |= decision.PodScaledDown
	}
	return c
}

// equalButResources says whether two specifications of an assigned pod mean the same to others but for
// the resources, which are all that the API lets change.
func equalButResources(a, b *model.PodSpec) bool {
	return a.Priority == b.Priority && len(a.Ports) == len(b.Ports) && len(a.Claims) == len(b.Claims) &&
		len(a.Affinity) == len(b.Affinity) && len(a.AntiAffinity) == len(b.AntiAffinity)
}
