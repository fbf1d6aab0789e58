package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// audit decides, once in a while, about one pod that waits for a change, without taking it
// out of the queue; each kind of pods in turn. None should fit: one that does was not
// woken when it should have been, which is a fault of ours. It is woken and reported.
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
	uid, rules, ok := m.queue.NextToAudit()
	if !ok || m.nominations[uid] != nil || rules.Has(decision.NoPlugin) { // who was refused by an extender may well fit
		return
	}
	pod := m.state.Pod(uid)
	var s decision.Summary
	m.placers[pod.Spec.SchedulerName].Decide(pod, &s)
	if s.Outcome != decision.Scheduled {
		return
	}
	m.queue.MissedWakeup(now, uid)
	m.emit(func(id uint64) Effect { return MissedWakeup{ID: id, Pod: pod, Node: s.Choice, Rules: rules} })
}
