package scheduler

import (
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// decisionCacheSize is the number of effects per ring. An effect takes about 200
// bytes, a rejection with many reasons some thousand.
const decisionCacheSize = 2000

// decisionCacheBytes bounds the specifications of the pods in a ring.
const decisionCacheBytes = 8 << 20

// decisionCache keeps the latest decisions. They are formatted only on request. Rejections and
// placements have separate rings, so that a burst of placements does not evict the reasons why
// other pods are pending.
type decisionCache struct {
	mu               sync.Mutex
	unplaced, placed ring
}

// ring holds the latest traces, ordered by effect ID.
type ring struct {
	list  []trace
	bytes int // approximate memory of the specifications
}

// trace is one effect and its outcome.
type trace struct {
	decided  time.Time
	pod      *model.Pod
	effect   scheduling.Effect
	executed time.Time // zero: no outcome yet
	result   scheduling.Result
	reason   string
}

func newDecisionCache() *decisionCache { return &decisionCache{} }

// onDecided records the effects of a step.
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

// onExecuted records the outcome of an effect.
func (t *decisionCache) onExecuted(now time.Time, e scheduling.Effect, o scheduling.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, r := t.ringFor(e); r != nil {
		if at := r.find(e.EffectID()); at != nil {
			at.executed, at.result, at.reason = now, o.Result, o.Reason
		}
	}
}

// usage returns the number of traces and the approximate memory of their specifications.
func (t *decisionCache) usage() (entries, bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.unplaced.list) + len(t.placed.list), t.unplaced.bytes + t.placed.bytes
}

// ringFor returns the pod of an effect and the ring that stores it. The ring is nil for effects that
// contain no new information about the pod.
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
	r.list = append(r.list, t)
	r.bytes += t.specBytes()
	for len(r.list) > decisionCacheSize || r.bytes > decisionCacheBytes && len(r.list) > 1 {
		r.bytes -= r.list[0].specBytes()
		r.list[0] = trace{}
		r.list = r.list[1:]
	}
}

func (t *trace) specBytes() int {
	if t.pod == nil || t.pod.Spec == nil {
		return 0
	}
	return t.pod.Spec.Bytes()
}

// at returns the i-th oldest trace.
func (r *ring) at(i int) *trace { return &r.list[i] }

// find returns the trace of an effect, or nil.
func (r *ring) find(id uint64) *trace {
	i := sort.Search(len(r.list), func(i int) bool { return r.at(i).effect.EffectID() >= id })
	if i == len(r.list) || r.at(i).effect.EffectID() != id {
		return nil
	}
	return r.at(i)
}

// forPod returns the traces of a pod, and of earlier pods of the same name, oldest first.
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
