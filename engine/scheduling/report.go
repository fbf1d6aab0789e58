package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
)

// report is what was last said about a pod that waits. When it cannot be
// written, because the API does not answer, it is said again: the pod may wait for long
// until something else is to be said.
type report struct {
	pod          *model.Pod
	verdict      *decision.Verdict // of a Hold
	summary      *decision.Summary // of a Reject
	number       int               // of the attempt
	effectID     uint64            // of the effect
	retryAt      time.Time         // when to repeat it; zero while it is under way
	maybeWritten bool              // it may have been written before
}

// reportUnschedulable reports that a pod has no node.
func (m *Machine) reportUnschedulable(pod *model.Pod, number int, s *decision.Summary) {
	m.sendReport(&report{pod: pod, summary: s, number: number})
}

// gatePod keeps a pod before the queue and reports it.
func (m *Machine) gatePod(now time.Time, pod *model.Pod, v *decision.Verdict) {
	m.queue.AddGated(now, queuePod(pod), v.Plugin)
	m.sendReport(&report{pod: pod, verdict: v})
}

// sendReport emits a report, which supersedes the one before about that pod.
func (m *Machine) sendReport(r *report) {
	m.dropReport(r.pod.UID)
	m.reports[r.pod.UID] = r
	m.emitReport(r)
}

func (m *Machine) emitReport(r *report) {
	r.retryAt = time.Time{}
	r.effectID = m.emit(func(id uint64) Effect {
		if r.summary == nil {
			return ReportGated{ID: id, Pod: r.pod, Verdict: r.verdict}
		}
		return ReportUnschedulable{ID: id, Pod: r.pod, Summary: r.summary, Attempt: r.number, Retry: r.maybeWritten}
	})
	m.reportsByEffect[r.effectID] = r
}

// dropReport forgets the report about a pod; it is not repeated.
func (m *Machine) dropReport(uid string) {
	if r, ok := m.reports[uid]; ok {
		delete(m.reportsByEffect, r.effectID)
		delete(m.reports, uid)
	}
}

// handleReportOutcome takes in what became of a report.
func (m *Machine) handleReportOutcome(now time.Time, r *report, o Outcome) {
	if o.Result != Unknown {
		m.dropReport(r.pod.UID)
		return
	}
	delete(m.reportsByEffect, r.effectID)
	r.effectID, r.retryAt, r.maybeWritten = 0, now.Add(m.cfg.RetryInterval), true
	m.reportRetries = append(m.reportRetries, r) // all wait equally long, so this is in order of time
}

// resendReports sends the reports again whose time has come, if they are still the
// last word about a pod that waits.
func (m *Machine) resendReports(now time.Time) {
	n := 0
	for ; n < len(m.reportRetries) && !m.reportRetries[n].retryAt.After(now); n++ {
		r := m.reportRetries[n]
		if m.reports[r.pod.UID] != r {
			continue
		}
		if w := m.queue.PoolOf(r.pod.UID); w == queue.NotQueued || w == queue.InFlight {
			m.dropReport(r.pod.UID)
			continue
		}
		m.emitReport(r)
	}
	clear(m.reportRetries[:n])
	m.reportRetries = m.reportRetries[n:]
}
