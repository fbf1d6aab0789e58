package probe

import (
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/podlifecycle"
)

// worker is a running probe. The Prober's mutex guards it, except for target, spec and period,
// which are constant.
type worker struct {
	target Target
	spec   *corev1.Probe
	period time.Duration

	due     time.Time
	index   int  // in the heap
	queued  bool // in the heap, not being probed
	stopped bool // stopped or replaced: results are ignored

	equalResults int  // number of equal results in a row
	lastOK       bool // last result
	verdict      bool // last reported verdict
	reported     bool // a verdict was reported
}

// observe adds a result and reports whether the verdict changed.
func (w *worker) observe(r result) (changed, ok bool) {
	if r.outcome == unknown {
		return false, false
	}
	ok = r.outcome == success
	if w.equalResults == 0 || w.lastOK != ok {
		w.equalResults, w.lastOK = 0, ok
	}
	w.equalResults++
	threshold := w.spec.FailureThreshold
	if ok {
		threshold = w.spec.SuccessThreshold
	} else if threshold <= 0 {
		threshold = 3
	}
	if w.equalResults < int(threshold) || w.reported && w.verdict == ok {
		return false, ok
	}
	w.verdict, w.reported = ok, true
	return true, ok
}

// isFinal reports whether the probe ends with this verdict.
func (w *worker) isFinal(ok bool) bool {
	return w.target.Probe == podlifecycle.Startup || w.target.Probe == podlifecycle.Liveness && !ok
}

// firstProbe returns the time of the first probe: after the initial delay, or now if that
// has passed. Containers older than the agent get a time within one period.
func (w *worker) firstProbe(startTime, now time.Time) time.Time {
	first := w.target.Started.Add(time.Duration(w.spec.InitialDelaySeconds) * time.Second)
	switch {
	case first.After(now):
		return first
	case w.target.Started.Before(startTime):
		h := fnv.New64a()
		_, _ = h.Write([]byte(w.target.Pod.UID))
		return now.Add(time.Duration(h.Sum64() % uint64(w.period)))
	}
	return now
}

// nextTick returns the first tick after the given one that is not before now.
func nextTick(tick time.Time, period time.Duration, now time.Time) time.Time {
	tick = tick.Add(period)
	if delay := now.Sub(tick); delay > 0 {
		tick = tick.Add((delay + period - 1) / period * period)
	}
	return tick
}

// probeSpec returns the container's probe, or nil if there is none.
func probeSpec(c *corev1.Container, probe podlifecycle.Probes) *corev1.Probe {
	switch probe {
	case podlifecycle.Startup:
		return c.StartupProbe
	case podlifecycle.Readiness:
		return c.ReadinessProbe
	case podlifecycle.Liveness:
		return c.LivenessProbe
	}
	return nil
}

// secondsOr converts a field to a duration, or the default if the field is not set.
func secondsOr(n int32, defaultSeconds int) time.Duration {
	if n <= 0 {
		return time.Duration(defaultSeconds) * time.Second
	}
	return time.Duration(n) * time.Second
}

// workerHeap is a heap of queued workers by due time.
type workerHeap []*worker

func (h workerHeap) Len() int           { return len(h) }
func (h workerHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h workerHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].index, h[j].index = i, j }

func (h *workerHeap) Push(x any) {
	w := x.(*worker)
	w.index, w.queued = len(*h), true
	*h = append(*h, w)
}

func (h *workerHeap) Pop() any {
	old := *h
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*h, w.queued = old[:len(old)-1], false
	return w
}
