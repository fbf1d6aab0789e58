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
	pod     *model.Pod
	verdict *decision.Verdict // of a Hold
	summary *decision.Summary // of a Reject
	number  int               // of the attempt
	id      uint64            // of the effect
	again   time.Time         // when to repeat it; zero while it is under way
	doubt   bool              // it may have been written before
}

// reject reports that a pod has no node.
func (m *Machine) reject(pod *model.Pod, number int, s *decision.Summary) {
	m.say(&report{pod: pod, summary: s, number: number})
}

// hold keeps a pod before the queue and reports it.
func (m *Machine) hold(now time.Time, pod *model.Pod, v *decision.Verdict) {
	m.queue.EnterGated(now, queued(pod), v.Rule)
	m.say(&report{pod: pod, verdict: v})
}

// say emits a report, which supersedes the one before about that pod.
func (m *Machine) say(r *report) {
	m.unsay(r.pod.UID)
	m.reports[r.pod.UID] = r
	m.send(r)
}

func (m *Machine) send(r *report) {
	r.again = time.Time{}
	r.id = m.emit(func(id uint64) Effect {
		if r.summary == nil {
			return Hold{ID: id, Pod: r.pod, Verdict: r.verdict}
		}
		return Reject{ID: id, Pod: r.pod, Summary: r.summary, Attempt: r.number, Again: r.doubt}
	})
	m.byReport[r.id] = r
}

// unsay forgets the report about a pod; it is not repeated.
func (m *Machine) unsay(uid string) {
	if r, ok := m.reports[uid]; ok {
		delete(m.byReport, r.id)
		delete(m.reports, uid)
	}
}

// reported takes in what became of a report.
func (m *Machine) reported(now time.Time, r *report, o Outcome) {
	if o.Result != Unknown {
		m.unsay(r.pod.UID)
		return
	}
	delete(m.byReport, r.id)
	r.id, r.again, r.doubt = 0, now.Add(m.cfg.LookAgain), true
	m.repeats = append(m.repeats, r) // all wait equally long, so this is in order of time
}

// repeat sends the reports again whose time has come, if they are still the
// last word about a pod that waits.
func (m *Machine) repeat(now time.Time) {
	n := 0
	for ; n < len(m.repeats) && !m.repeats[n].again.After(now); n++ {
		r := m.repeats[n]
		if m.reports[r.pod.UID] != r {
			continue
		}
		if w := m.queue.Where(r.pod.UID); w == queue.Nowhere || w == queue.InFlight {
			m.unsay(r.pod.UID)
			continue
		}
		m.send(r)
	}
	clear(m.repeats[:n])
	m.repeats = m.repeats[n:]
}
