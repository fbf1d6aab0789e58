package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
)

// report is the last report about a waiting pod. If it cannot be written it is retried, because the
// pod may wait long for the next one.
type report struct {
	pod          *model.Pod
	verdict      *decision.Verdict // of a ReportGated
	summary      *decision.Summary // of a ReportUnschedulable
	attempt      int               // number of the attempt
	effectID     uint64
	retryAt      time.Time // zero while the effect is in flight
	maybeWritten bool      // an earlier effect may have written it
}

// reportUnschedulable reports that a pod has no node.
func (m *Machine) reportUnschedulable(pod *model.Pod, attempt int, s *decision.Summary) {
	m.sendReport(&report{pod: pod, summary: s, attempt: attempt})
}

// gatePod adds a pod to the gated pool and reports it.
func (m *Machine) gatePod(now time.Time, pod *model.Pod, v *decision.Verdict) {
	m.queue.AddGated(now, queuePod(pod), v.Plugin)
	m.sendReport(&report{pod: pod, verdict: v})
}

// sendReport emits a report that replaces the previous one about the pod.
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
		return ReportUnschedulable{ID: id, Pod: r.pod, Summary: r.summary, Attempt: r.attempt, Retry: r.maybeWritten}
	})
	m.reportsByEffect[r.effectID] = r
}

// dropReport drops the report about a pod, so it is not retried.
func (m *Machine) dropReport(uid string) {
	if r, ok := m.reports[uid]; ok {
		delete(m.reportsByEffect, r.effectID)
		delete(m.reports, uid)
	}
}

// handleReportOutcome drops a report, or schedules a retry if the outcome is unknown.
func (m *Machine) handleReportOutcome(now time.Time, r *report, o Outcome) {
	if o.Result != Unknown {
		m.dropReport(r.pod.UID)
		return
	}
	delete(m.reportsByEffect, r.effectID)
	r.effectID, r.retryAt, r.maybeWritten = 0, now.Add(m.cfg.RetryInterval), true
	m.reportRetries = append(m.reportRetries, r) // the delays are equal, so this is sorted by time
}

// resendReports retries the reports that are due, if they are still the latest about a waiting pod.
func (m *Machine) resendReports(now time.Time) {
	n := 0
	for ; n < len(m.reportRetries) && !m.reportRetries[n].retryAt.After(now); n++ {
		r := m.reportRetries[n]
		if m.reports[r.pod.UID] != r {
			continue
		}
		if pool := m.queue.PoolOf(r.pod.UID); pool == queue.NotQueued || pool == queue.InFlight {
			m.dropReport(r.pod.UID)
			continue
		}
		m.emitReport(r)
	}
	clear(m.reportRetries[:n])
	m.reportRetries = m.reportRetries[n:]
}
