package scheduler

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/informer"
	"github.com/berthproject/berth/sim/store"
)

// request is an effect in progress: a sequence of writes, one per latency, and an outcome.
type request struct {
	s           *Scheduler
	generation  int
	effect      scheduling.Effect
	pod         *model.Pod
	sent        time.Time
	writes      []write
	outcome     scheduling.Outcome
	observedPod *corev1.Pod                     // by RefreshPod
	writeCount  int                             // number of writes without conflicts
	executed    int                             // writes of a preemption that are executed or due
	writeLimit  int                             // writes of a preemption before the fault Partial ends it
	budgets     []*policyv1.PodDisruptionBudget // in the outcome of a refused debit
	fault       sim.Fault
	done        bool
}

// write is one write; it returns false to end the request with the current outcome.
type write func(r *request) bool

// Send executes an effect as if the machine had returned it.
func (s *Scheduler) Send(e scheduling.Effect) {
	switch e := e.(type) {
	case scheduling.ReportBound:
		return // informational only
	case scheduling.ReportDeferredResize:
		s.w.Log("scheduler", "deferredresize", e.Pod.Key(), "no pod is preempted for the resize of "+e.Pod.Key()+": "+explain.Message(e.Summary))
		return
	}
	kind, pod := RequestKind(e), PodOf(e)
	fault, writeLimit := s.w.Faults().OfRequest(kind, pod.Key())
	r := &request{s: s, fault: fault, generation: s.generation, effect: e, pod: pod, sent: s.w.Now()}
	if p, ok := e.(scheduling.Preempt); ok {
		r.writeCount = preemptionWrites(p)
		if r.writeLimit = writeLimit; writeLimit == 0 {
			r.writeLimit = r.writeCount/2 + 1
		}
	} else {
		r.writes = s.requestWrites(e)
		r.writeCount = len(r.writes)
	}
	if r.fault == sim.Conflict && kind == sim.RequestBind && len(s.open[pod.UID]) > 0 {
		r.fault = sim.Refuse // a server reports a conflict only after an earlier bind can no longer succeed
	}
	s.requests = append(s.requests, r)
	if b, ok := e.(scheduling.Bind); ok {
		s.w.Notify(BindSent{pod, b.Node})
		s.recordSent(r, b.Node)
	}
	s.w.LogFault(r.fault, kind, "scheduler", pod.Key())
	at := s.w.Now().Add(s.w.Latency())
	if b := s.busyUntil[pod.UID]; b.After(at) {
		at = b // requests about one pod keep their order
	}
	s.busyUntil[pod.UID] = at.Add(time.Duration(r.writeCount-1) * s.w.Latency())
	switch r.fault {
	case sim.Refuse:
		s.w.AtTime(at, func() { r.respond(scheduling.Refused, "injected failure") })
	case sim.Conflict:
		s.w.AtTime(at, func() { r.respond(scheduling.Conflict, "injected conflict") })
	case sim.RequestLost:
		s.w.AtTime(at, func() { r.respond(scheduling.Unknown, "no answer") })
	case sim.Delayed:
		s.w.AtTime(at, func() { r.respond(scheduling.Unknown, "no answer") })
		s.delayedRequests = append(s.delayedRequests, r)
		s.w.AtTime(at.Add(s.w.Faults().RequestDelay(pod.Key(), s.o.Machine.BindTimeout/2)), func() {
			if i := slices.Index(s.delayedRequests, r); i >= 0 {
				s.delayedRequests = slices.Delete(s.delayedRequests, i, i+1)
				r.runAll()
			}
		})
	default:
		s.w.AtTime(at, func() { r.run(0) })
	}
}

// run executes the ith and all later writes.
func (r *request) run(i int) {
	if r.done {
		return
	}
	if e, ok := r.effect.(scheduling.Preempt); ok {
		r.startPreemption(e)
		return
	}
	if i < len(r.writes) && (r.fault != sim.Partial || i <= len(r.writes)/2) && r.writes[i](r) {
		if i+1 < len(r.writes) {
			r.s.w.After(r.s.w.Latency(), func() { r.run(i + 1) })
			return
		}
	}
	r.finish()
}

// finish delivers the outcome unless a fault loses it.
func (r *request) finish() {
	r.s.recordSettled(r)
	switch r.fault {
	case sim.NeverAnswered:
		r.remove()
	case sim.ResponseLost, sim.Partial:
		r.respond(scheduling.Unknown, "no answer")
	default:
		r.respond(r.outcome.Result, r.outcome.Reason)
	}
}

// runAll executes all writes at once without an outcome.
func (r *request) runAll() {
	defer r.s.recordSettled(r)
	if e, ok := r.effect.(scheduling.Preempt); ok {
		r.startPreemption(e)
		return
	}
	for _, w := range r.writes {
		if !w(r) {
			return
		}
	}
}

// respond delivers the outcome.
func (r *request) respond(result scheduling.Result, reason string) {
	if r.done {
		return
	}
	r.remove()
	if r.fault != sim.Delayed {
		r.s.recordSettled(r)
	}
	out := scheduling.Outcome{ID: r.effect.EffectID(), Result: result, Reason: reason}
	in := informer.Input{}
	if result == scheduling.Done && r.observedPod != nil {
		out.Pod, in.Object = r.s.converter.Pod(r.observedPod), r.observedPod
	}
	if result == scheduling.Refused {
		for _, b := range r.budgets {
			if m, ok := r.s.converter.Compile(b).(*model.Budget); ok {
				out.Budgets = append(out.Budgets, m)
				in.Budgets = append(in.Budgets, b)
			}
		}
	}
	in.Event = out
	r.s.deliver(r.generation, in)
}

// remove removes the request from those in progress.
func (r *request) remove() {
	r.done = true
	if i := slices.Index(r.s.requests, r); i >= 0 {
		r.s.requests = slices.Delete(r.s.requests, i, i+1)
	}
}

// abort executes or drops the request of a killed sender, depending on the seed. Of several
// writes no further ones are executed.
func (r *request) abort() {
	r.done = true
	r.s.recordSettled(r)
	if (r.fault == sim.NoFault || r.fault == sim.Delayed) && len(r.writes) == 1 && r.s.w.Faults().Hash("cut/"+r.pod.Key())%2 == 0 {
		r.runAll()
	}
}

// setError sets the outcome by an error, as package executor does.
func (r *request) setError(err error) {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsConflict(err):
		r.outcome.Result = scheduling.Conflict
	case errors.As(err, &status):
		r.outcome.Result = scheduling.Refused
	default:
		r.outcome.Result = scheduling.Unknown
	}
	r.outcome.Reason = err.Error()
}

// writeStep returns a write from a function that may fail.
func writeStep(f func(r *request) error) write {
	return func(r *request) bool {
		if err := f(r); err != nil {
			r.setError(err)
			return false
		}
		return true
	}
}

func (r *request) precondition() store.Precondition { return store.Precondition{UID: r.pod.UID} }
