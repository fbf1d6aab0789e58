package sim

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim/store"
)

// request is an effect under way: writes one after the other, each a latency
// after the one before, and an answer.
type request struct {
	s      *scheduler
	life   int
	effect scheduling.Effect
	pod    *model.Pod
	sent   time.Time
	writes []write
	out    scheduling.Outcome
	seen   *corev1.Pod // by a Look
	// budgets refused what was to be paid.
	taken   []taken                     // from budgets
	entries map[string][]displace.Entry // by victim's name
	budgets []*policyv1.PodDisruptionBudget
	ending  Ending
	over    bool
}

// write does one thing. False ends the request with out as it is then.
type write func(r *request) bool

// carry sends an effect.
func (s *scheduler) carry(e scheduling.Effect) {
	if _, ok := e.(scheduling.Bound); ok {
		return // it only tells
	}
	name, pod := EffectName(e), PodOf(e)
	r := &request{s: s, life: s.life, effect: e, pod: pod, sent: s.w.now, writes: s.writes(e), ending: s.w.faults.request(name, pod.Key()),
		entries: map[string][]displace.Entry{}}
	if r.ending == Clash && name == "bind" && len(s.w.audit.open[pod.UID]) > 0 {
		r.ending = Refuse // a server says conflict only when an earlier bind cannot be granted any more
	}
	s.requests = append(s.requests, r)
	if b, ok := e.(scheduling.Bind); ok {
		s.w.audit.asks(r, b.Node)
	}
	if r.ending != Fine {
		s.w.tell("fault", r.ending.String(), pod.Key(), "the request to "+name+" "+faultWords[r.ending])
	}
	at := s.w.now.Add(s.w.o.Latency)
	if b := s.busy[pod.UID]; b.After(at) {
		at = b // requests about one pod keep their order
	}
	s.busy[pod.UID] = at.Add(time.Duration(len(r.writes)-1) * s.w.o.Latency)
	switch r.ending {
	case Refuse:
		s.w.at(at, func() { r.end(scheduling.Refused, "refused by the scenario") })
	case Clash:
		s.w.at(at, func() { r.end(scheduling.Conflict, "a conflict by the scenario") })
	case Lost:
		s.w.at(at, func() { r.end(scheduling.Unknown, "no answer") })
	case Late:
		s.w.at(at, func() { r.end(scheduling.Unknown, "no answer") })
		s.late = append(s.late, r)
		s.w.at(at.Add(s.w.faults.late(pod.Key(), s.w.o.Machine.BindTimeout/2)), func() {
			if i := slices.Index(s.late, r); i >= 0 {
				s.late = slices.Delete(s.late, i, i+1)
				r.all()
			}
		})
	default:
		s.w.at(at, func() { r.run(0) })
	}
}

var faultWords = [numEndings]string{"is fine", "is refused", "conflicts", "is lost", "is done and not answered", "is done late and not answered",
	"is done and never spoken of", "is done in part and not answered"}

// run does the ith write and those after it.
func (r *request) run(i int) {
	if r.over {
		return
	}
	if i < len(r.writes) && (r.ending != Partly || i <= len(r.writes)/2) && r.writes[i](r) {
		if i+1 < len(r.writes) {
			r.s.w.after(r.s.w.o.Latency, func() { r.run(i + 1) })
			return
		}
	}
	r.s.w.audit.settled(r)
	switch r.ending {
	case Silent:
		r.drop()
	case Unheard, Partly:
		r.end(scheduling.Unknown, "no answer")
	default:
		r.end(r.out.Result, r.out.Why)
	}
}

// all does all writes at once and says nothing.
func (r *request) all() {
	defer r.s.w.audit.settled(r)
	for _, w := range r.writes {
		if !w(r) {
			return
		}
	}
}

// end answers.
func (r *request) end(result scheduling.Result, why string) {
	if r.over {
		return
	}
	r.drop()
	if r.ending != Late {
		r.s.w.audit.settled(r)
	}
	out := scheduling.Outcome{ID: r.effect.EffectID(), Result: result, Why: why}
	in := Input{}
	if result == scheduling.Done && r.seen != nil {
		out.Seen, in.Object = r.s.view.Pod(r.seen), r.seen
	}
	if result == scheduling.Refused {
		for _, b := range r.budgets {
			if m, ok := r.s.view.Compile(b).(*model.Budget); ok {
				out.Budgets = append(out.Budgets, m)
				in.Budgets = append(in.Budgets, b)
			}
		}
	}
	in.Event = out
	r.s.answer(r.life, in)
}

func (r *request) drop() {
	r.over = true
	if i := slices.Index(r.s.requests, r); i >= 0 {
		r.s.requests = slices.Delete(r.s.requests, i, i+1)
	}
}

// cut is what becomes of a request whose sender is killed: done or not, as the
// seed has it. One of several writes stays where it is.
func (r *request) cut() {
	r.over = true
	r.s.w.audit.settled(r)
	if (r.ending == Fine || r.ending == Late) && len(r.writes) == 1 && r.s.w.faults.roll("cut/"+r.pod.Key())%2 == 0 {
		r.all()
	}
}

// failed words an error as actuate does.
func (r *request) failed(err error) {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsConflict(err):
		r.out.Result = scheduling.Conflict
	case errors.As(err, &status):
		r.out.Result = scheduling.Refused
	default:
		r.out.Result = scheduling.Unknown
	}
	r.out.Why = err.Error()
}

// attempt makes a write of something that may fail.
func attempt(f func(r *request) error) write {
	return func(r *request) bool {
		if err := f(r); err != nil {
			r.failed(err)
			return false
		}
		return true
	}
}

func (r *request) pre() store.Precondition { return store.Precondition{UID: r.pod.UID} }

// PodOf is the pod that an effect is about.
func PodOf(e scheduling.Effect) *model.Pod {
	switch e := e.(type) {
	case scheduling.Bind:
		return e.Pod
	case scheduling.Reject:
		return e.Pod
	case scheduling.Hold:
		return e.Pod
	case scheduling.Look:
		return e.Pod
	case scheduling.Preempt:
		return e.Pod
	case scheduling.Unnominate:
		return e.Pod
	case scheduling.Prepare:
		return e.Pod
	case scheduling.Bound:
		return e.Pod
	}
	return &model.Pod{}
}
