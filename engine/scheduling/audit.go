package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// audit checks one pod of the unschedulable pool without dequeuing it, each equivalence class in
// turn. A pod that fits a node missed a wake-up, which is a bug: it is activated and reported.
func (m *Machine) audit(now time.Time) {
	if m.cfg.AuditInterval <= 0 || m.queue.Depths().Unschedulable == 0 {
		m.nextAudit = time.Time{}
		return
	}
	if m.nextAudit.IsZero() {
		m.nextAudit = now.Add(m.cfg.AuditInterval)
	}
	if now.Before(m.nextAudit) {
		return
	}
	m.nextAudit = now.Add(m.cfg.AuditInterval)
	uid, rejectedBy, ok := m.queue.NextToAudit()
	if !ok || m.nominations[uid] != nil || rejectedBy.Has(decision.NoPlugin) { // a pod that an extender refused may fit
		return
	}
	pod := m.state.Pod(uid)
	var s decision.Summary
	m.placers[pod.Spec.SchedulerName].Decide(pod, &s)
	if s.Outcome != decision.Scheduled {
		return
	}
	m.queue.MissedWakeup(now, uid)
	m.emit(func(id uint64) Effect { return MissedWakeup{ID: id, Pod: pod, Node: s.Choice, RejectedBy: rejectedBy} })
}
