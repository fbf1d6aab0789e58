package scheduler

import (
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// remembered is how many effects of each sort are kept. One takes some 200
// bytes, a rejection with many reasons a few thousand.
const remembered = 2000

// trail remembers the last decisions as they are; nothing is put into words until
// somebody asks. What pods wait for is kept apart from where they were put, so
// that a burst of pods that fit does not wash away why others do not.
type trail struct {
	mu              sync.Mutex
	waiting, placed ring
}

// ring is the last traces, in the order of their ids.
type ring struct {
	list []trace
	next int // where the next one goes once the list is full
}

// trace is one effect and what became of it.
type trace struct {
	at     time.Time
	pod    *model.Pod
	effect scheduling.Effect
	ended  time.Time // zero: not yet, as far as is known
	result scheduling.Result
	why    string
}

func newTrail() *trail { return &trail{} }

// decided takes in the effects of a step.
func (t *trail) decided(now time.Time, effects []scheduling.Effect) {
	if len(effects) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range effects {
		if pod, r := t.place(e); r != nil {
			r.add(trace{at: now, pod: pod, effect: e})
		}
	}
}

// carriedOut takes in what became of an effect.
func (t *trail) carriedOut(now time.Time, e scheduling.Effect, o scheduling.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, r := t.place(e); r != nil {
		if at := r.find(e.EffectID()); at != nil {
			at.ended, at.result, at.why = now, o.Result, o.Why
		}
	}
}

// place says whom an effect is about and where it is kept; nowhere if it says
// nothing new about the pod.
func (t *trail) place(e scheduling.Effect) (*model.Pod, *ring) {
	switch e := e.(type) {
	case scheduling.Bind:
		return e.Pod, &t.placed
	case scheduling.Prepare:
		return e.Pod, &t.placed
	case scheduling.Bound:
		return e.Pod, &t.placed
	case scheduling.Reject:
		return e.Pod, &t.waiting
	case scheduling.Hold:
		return e.Pod, &t.waiting
	case scheduling.Preempt:
		return e.Pod, &t.waiting
	case scheduling.Unnominate:
		return e.Pod, &t.waiting
	case scheduling.Ask:
		return e.Pod, &t.waiting
	case scheduling.AskVictims:
		return e.Pod, &t.waiting
	case scheduling.Missed:
		return e.Pod, &t.waiting
	}
	return nil, nil
}

func (r *ring) add(t trace) {
	if len(r.list) < remembered {
		r.list = append(r.list, t)
		return
	}
	r.list[r.next] = t
	r.next = (r.next + 1) % remembered
}

// at is the i-th oldest trace.
func (r *ring) at(i int) *trace { return &r.list[(r.next+i)%len(r.list)] }

// find is the trace of an effect; nil when it is forgotten.
func (r *ring) find(id uint64) *trace {
	i := sort.Search(len(r.list), func(i int) bool { return r.at(i).effect.EffectID() >= id })
	if i == len(r.list) || r.at(i).effect.EffectID() != id {
		return nil
	}
	return r.at(i)
}

// of are the traces of a pod, and of its namesakes before it, the oldest first.
func (t *trail) of(namespace, name string) []trace {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []trace
	for _, r := range []*ring{&t.waiting, &t.placed} {
		for i := range r.list {
			if at := r.at(i); at.pod.Name == name && at.pod.Namespace == namespace {
				out = append(out, *at)
			}
		}
	}
	slices.SortFunc(out, func(a, b trace) int {
		if a.effect.EffectID() < b.effect.EffectID() {
			return -1
		}
		return 1
	})
	return out
}
