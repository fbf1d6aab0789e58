package scheduler

import (
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// decisionCacheSize is how many effects of each sort are kept. One takes some 200
// bytes, a rejection with many reasons a few thousand.
const decisionCacheSize = 2000

// decisionCache remembers the last decisions as they are; nothing is put into words until
// somebody asks. What pods wait for is kept apart from where they were put, so
// that a burst of pods that fit does not wash away why others do not.
type decisionCache struct {
	mu               sync.Mutex
	unplaced, placed ring
}

// ring is the last traces, in the order of their ids.
type ring struct {
	list []trace
	next int // where the next one goes once the list is full
}

// trace is one effect and what became of it.
type trace struct {
	decided  time.Time
	pod      *model.Pod
	effect   scheduling.Effect
	executed time.Time // zero: not yet, as far as is known
	result   scheduling.Result
	why      string
}

func newDecisionCache() *decisionCache { return &decisionCache{} }

// onDecided takes in the effects of a step.
func (t *decisionCache) onDecided(now time.Time, effects []scheduling.Effect) {
	if len(effects) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range effects {
		if pod, r := t.ringFor(e); r != nil {
			r.add(trace{decided: now, pod: pod, effect: e})
		}
	}
}

// onExecuted takes in what became of an effect.
func (t *decisionCache) onExecuted(now time.Time, e scheduling.Effect, o scheduling.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, r := t.ringFor(e); r != nil {
		if at := r.find(e.EffectID()); at != nil {
			at.executed, at.result, at.why = now, o.Result, o.Reason
		}
	}
}

// ringFor says whom an effect is about and where it is kept; nowhere if it says
// nothing new about the pod.
func (t *decisionCache) ringFor(e scheduling.Effect) (*model.Pod, *ring) {
	switch e := e.(type) {
	case scheduling.Bind:
		return e.Pod, &t.placed
	case scheduling.BindVolumes:
		return e.Pod, &t.placed
	case scheduling.ReportBound:
		return e.Pod, &t.placed
	case scheduling.ReportUnschedulable:
		return e.Pod, &t.unplaced
	case scheduling.ReportGated:
		return e.Pod, &t.unplaced
	case scheduling.Preempt:
		return e.Pod, &t.unplaced
	case scheduling.ClearNomination:
		return e.Pod, &t.unplaced
	case scheduling.CallExtenders:
		return e.Pod, &t.unplaced
	case scheduling.CallPreemptionExtenders:
		return e.Pod, &t.unplaced
	case scheduling.MissedWakeup:
		return e.Pod, &t.unplaced
	}
	return nil, nil
}

func (r *ring) add(t trace) {
	if len(r.list) < decisionCacheSize {
		r.list = append(r.list, t)
		return
	}
	r.list[r.next] = t
	r.next = (r.next + 1) % decisionCacheSize
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

// forPod are the traces of a pod, and of its namesakes before it, the oldest first.
func (t *decisionCache) forPod(namespace, name string) []trace {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []trace
	for _, r := range []*ring{&t.unplaced, &t.placed} {
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
