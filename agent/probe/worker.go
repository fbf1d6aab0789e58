package probe

import (
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/podlifecycle"
)

// worker is a probe that is under way. The Prober's lock guards it, but target,
// spec and period, which do not change.
type worker struct {
	target Target
	spec   *corev1.Probe
	period time.Duration

	due     time.Time
	index   int  // in the timeline
	queued  bool // is in the timeline, and not being asked
	stopped bool // stopped or replaced: what comes of it is not told

	resultRun int  // how often the last answer came in a row
	lastOK    bool // which it was
	verdict   bool // what was told last
	reported  bool // whether anything was
}

// observe takes in an answer and says whether the verdict is to be told now.
func (w *worker) observe(a result) (tell, ok bool) {
	if a.outcome == unknown {
		return false, false
	}
	ok = a.outcome == success
	if w.resultRun == 0 || w.lastOK != ok {
		w.resultRun, w.lastOK = 0, ok
	}
	w.resultRun++
	threshold := w.spec.FailureThreshold
	if ok {
		threshold = w.spec.SuccessThreshold
	} else if threshold <= 0 {
		threshold = 3
	}
	if w.resultRun < int(threshold) || w.reported && w.verdict == ok {
		return false, ok
	}
	w.verdict, w.reported = ok, true
	return true, ok
}

// isFinal says whether nothing more is to be asked after a verdict.
func (w *worker) isFinal(ok bool) bool {
	return w.target.Probe == podlifecycle.Startup || w.target.Probe == podlifecycle.Liveness && !ok
}

// firstProbe is when to ask first: after the initial delay, at once if that is over. Containers from
// before this agent are asked within a period, each at a time of its own.
func (w *worker) firstProbe(born, now time.Time) time.Time {
	at := w.target.Started.Add(time.Duration(w.spec.InitialDelaySeconds) * time.Second)
	switch {
	case at.After(now):
		return at
	case w.target.Started.Before(born):
		h := fnv.New64a()
		_, _ = h.Write([]byte(w.target.Pod.UID))
		return now.Add(time.Duration(h.Sum64() % uint64(w.period)))
	}
	return now
}

// nextTick is the next tick after now.
func nextTick(tick time.Time, period time.Duration, now time.Time) time.Time {
	tick = tick.Add(period)
	if late := now.Sub(tick); late > 0 {
		tick = tick.Add((late + period - 1) / period * period)
	}
	return tick
}

// probeSpec is a container's probe of a kind, nil if it has none.
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

// secondsOr are those of a field, or its default where the API server has not set it.
func secondsOr(n int32, otherwise int) time.Duration {
	if n <= 0 {
		return time.Duration(otherwise) * time.Second
	}
	return time.Duration(n) * time.Second
}

// workerHeap is a heap of the workers that wait, the first due on top.
type workerHeap []*worker

func (t workerHeap) Len() int           { return len(t) }
func (t workerHeap) Less(i, j int) bool { return t[i].due.Before(t[j].due) }
func (t workerHeap) Swap(i, j int)      { t[i], t[j] = t[j], t[i]; t[i].index, t[j].index = i, j }

func (t *workerHeap) Push(x any) {
	w := x.(*worker)
	w.index, w.queued = len(*t), true
	*t = append(*t, w)
}

func (t *workerHeap) Pop() any {
	old := *t
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*t, w.queued = old[:len(old)-1], false
	return w
}
