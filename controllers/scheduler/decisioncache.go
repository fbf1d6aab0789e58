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
// bytes, a rejection with many reasons several thousand.
const decisionCacheSize = 2000

// decisionCacheBytes bounds the approximate memory of the pod specifications in a ring.
const decisionCacheBytes = 8 << 20

// decisionCache has the latest decisions. They are formatted only on request. Rejections and
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
func (c *decisionCache) onDecided(now time.Time, effects []scheduling.Effect) {
	if len(effects) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range effects {
		if pod, r := c.ringFor(e); r != nil {
			r.add(trace{decided: now, pod: pod, effect: e})
		}
	}
}

// onExecuted records the outcome of an effect.
func (c *decisionCache) onExecuted(now time.Time, e scheduling.Effect, o scheduling.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, r := c.ringFor(e); r != nil {
		if found := r.find(e.EffectID()); found != nil {
			found.executed, found.result, found.reason = now, o.Result, o.Reason
		}
	}
}

// usage returns the number of traces and the approximate memory of their specifications.
func (c *decisionCache) usage() (entries, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.unplaced.list) + len(c.placed.list), c.unplaced.bytes + c.placed.bytes
}

// ringFor returns the pod of an effect and the ring that stores it. The ring is nil for effects that
// contain no new information about the pod.
func (c *decisionCache) ringFor(e scheduling.Effect) (*model.Pod, *ring) {
	switch e := e.(type) {
	case scheduling.Bind:
		return e.Pod, &c.placed
	case scheduling.BindVolumes:
		return e.Pod, &c.placed
	case scheduling.ReportBound:
		return e.Pod, &c.placed
	case scheduling.ReportUnschedulable:
		return e.Pod, &c.unplaced
	case scheduling.ReportGated:
		return e.Pod, &c.unplaced
	case scheduling.Preempt:
		return e.Pod, &c.unplaced
	case scheduling.ReportDeferredResize:
		return e.Pod, &c.unplaced
	case scheduling.ClearNomination:
		return e.Pod, &c.unplaced
	case scheduling.CallExtenders:
		return e.Pod, &c.unplaced
	case scheduling.CallPreemptionExtenders:
		return e.Pod, &c.unplaced
	case scheduling.MissedWakeup:
		return e.Pod, &c.unplaced
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

// at returns the trace with index i, from 0 for the oldest.
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
func (c *decisionCache) forPod(namespace, name string) []trace {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []trace
	for _, r := range []*ring{&c.unplaced, &c.placed} {
		for i := range r.list {
			if t := r.at(i); t.pod.Name == name && t.pod.Namespace == namespace {
				out = append(out, *t)
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
