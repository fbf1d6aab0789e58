package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
)

// upsertPod applies a new or changed pod.
func (m *Machine) upsertPod(now time.Time, p *model.Pod) {
	if _, ok := m.placers[p.Spec.SchedulerName]; !ok {
		p = p.WithoutNomination() // the reservation belongs to another scheduler
	}
	old := m.state.Pod(p.UID)
	if old != nil && old.NodeName != "" && p.NodeName == "" && !m.state.Assumed(p.UID) {
		return // the event is older than the pod's binding
	}
	p = m.withNomination(now, m.applyVictimMark(p))
	hadVolumes := m.state.HasAssumedVolumes(p.UID)
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
		m.notifyVolumesFreed(now, hadVolumes)
		m.observeResize(now, old, p)
		if occupiesNode(old) && p.Finished() {
			m.handlePodRemoved(now, old)
		}
		return
	}
	if old != nil && !occupiesNode(old) && old.NominatedNodeName != "" && (old.NominatedNodeName != p.NominatedNodeName || !equalLabels(old.Labels, p.Labels)) {
		m.notifyFreed(now, old)
	}
	if a, ok := m.attempts[p.UID]; ok {
		if current := m.state.Pod(p.UID); occupiesNode(old) { // the pod already uses resources
			m.notifyChange(now, delta(podChange(old, current), old, current))
		}
		m.updateAttemptedPod(now, a, p)
		return
	}
	if p.NominatedNodeName != "" && (p.Deleting || old != nil && old.Spec != p.Spec) { // the preemption is obsolete
		m.clearNomination(now, p)
		p = m.state.Pod(p.UID)
	}
	if m.queue.PoolOf(p.UID) == queue.NotQueued || !m.schedules(p) {
		m.requeue(now, p)
		return
	}
	requeue := old == nil || old.Spec != p.Spec || !equalLabels(old.Labels, p.Labels)
	if requeue && m.queue.PoolOf(p.UID) != queue.InFlight {
		if v := m.placers[p.Spec.SchedulerName].Gate(p); v != nil {
			m.gatePod(now, p, v)
			return
		}
	}
	m.queue.Update(now, queuePod(p), requeue)
}

// updateAttemptedPod applies a change of a pod that has an attempt. The attempt's outcome decides
// what happens next. If no Bind was sent, a terminating pod's attempt ends.
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

// schedules reports whether the pod has a known profile and is not terminating.
func (m *Machine) schedules(p *model.Pod) bool {
	_, ok := m.placers[p.Spec.SchedulerName]
	return ok && !p.Deleting
}

// requeue adds a pending pod without an attempt to the queue, or removes it if the
// machine does not schedule it.
func (m *Machine) requeue(now time.Time, p *model.Pod) {
	if !m.schedules(p) {
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

// removePod removes a pod and the resources that it used or reserved.
func (m *Machine) removePod(now time.Time, uid string) {
	old := m.state.Pod(uid)
	if old == nil {
		return
	}
	m.endAttempt(uid)
	m.dropReport(uid)
	m.queue.Remove(uid)
	m.endNomination(now, uid)
	hadVolumes := m.state.HasAssumedVolumes(uid)
	m.state.RemovePod(uid)
	m.notifyVolumesFreed(now, hadVolumes)
	if occupiesNode(old) || old.NominatedNodeName != "" {
		m.notifyFreed(now, old)
	}
	m.observeResize(now, old, nil)
	m.handlePodRemoved(now, old)
}

// occupiesNode reports whether a pod uses resources of a node.
func occupiesNode(p *model.Pod) bool { return p != nil && p.NodeName != "" && !p.Finished() }

// podChange returns how a bound or finished pod changed.
func podChange(old, p *model.Pod) decision.ClusterEvents {
	switch before, after := occupiesNode(old), occupiesNode(p); {
	case before && !after:
		return decision.PodRemoved
	case !before && !after:
		if old != nil && old.NominatedNodeName != "" && !old.Finished() {
			return decision.PodRemoved // the pod had reserved resources
		}
		return decision.NoEvent
	case !before:
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

// equalButResources reports whether two versions of an assigned pod's spec differ only in resources, as far as other
// pods are concerned. The API allows no other change.
func equalButResources(a, b *model.PodSpec) bool {
	return a.Priority == b.Priority && len(a.Ports) == len(b.Ports) && len(a.Claims) == len(b.Claims) &&
		len(a.Affinity) == len(b.Affinity) && len(a.AntiAffinity) == len(b.AntiAffinity)
}
