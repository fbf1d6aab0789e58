package probe

import (
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/podlife"
)

// worker is a probe that is under way. The Prober's lock guards it, but target,
// spec and period, which do not change.
type worker struct {
	target Target
	spec   *corev1.Probe
	period time.Duration

	due   time.Time
	index int  // in the timeline
	waits bool // is in the timeline, and not being asked
	over  bool // stopped or replaced: what comes of it is not told

	run     int  // how often the last answer came in a row
	runOK   bool // which it was
	verdict bool // what was told last
	hasTold bool // whether anything was
}

// judge takes in an answer and says whether the verdict is to be told now.
func (w *worker) judge(a answer) (tell, ok bool) {
	if a.kind == unknown {
		return false, false
	}
	ok = a.kind == good
	if w.run == 0 || w.runOK != ok {
		w.run, w.runOK = 0, ok
	}
	w.run++
	threshold := w.spec.FailureThreshold
	if ok {
		threshold = w.spec.SuccessThreshold
	} else if threshold <= 0 {
		threshold = 3
	}
	if w.run < int(threshold) || w.hasTold && w.verdict == ok {
		return false, ok
	}
	w.verdict, w.hasTold = ok, true
	return true, ok
}

// last says whether nothing more is to be asked after a verdict.
func (w *worker) last(ok bool) bool {
	return w.target.Probe == podlife.Startup || w.target.Probe == podlife.Liveness && !ok
}

// first is when to ask first: after the initial delay, at once if that is over. Containers from
// before this agent are asked within a period, each at a time of its own.
func (w *worker) first(born, now time.Time) time.Time {
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

// after is the next tick after now.
func after(tick time.Time, period time.Duration, now time.Time) time.Time {
	tick = tick.Add(period)
	if late := now.Sub(tick); late > 0 {
		tick = tick.Add((late + period - 1) / period * period)
	}
	return tick
}

// specOf is a container's probe of a kind, nil if it has none.
func specOf(c *corev1.Container, probe podlife.Probes) *corev1.Probe {
	switch probe {
	case podlife.Startup:
		return c.StartupProbe
	case podlife.Readiness:
		return c.ReadinessProbe
	case podlife.Liveness:
		return c.LivenessProbe
	}
	return nil
}

// seconds are those of a field, or its default where the API server has not set it.
func seconds(n int32, otherwise int) time.Duration {
	if n <= 0 {
		return time.Duration(otherwise) * time.Second
	}
	return time.Duration(n) * time.Second
}

// timeline is a heap of the workers that wait, the first due on top.
type timeline []*worker

func (t timeline) Len() int           { return len(t) }
func (t timeline) Less(i, j int) bool { return t[i].due.Before(t[j].due) }
func (t timeline) Swap(i, j int)      { t[i], t[j] = t[j], t[i]; t[i].index, t[j].index = i, j }

func (t *timeline) Push(x any) {
	w := x.(*worker)
	w.index, w.waits = len(*t), true
	*t = append(*t, w)
}

func (t *timeline) Pop() any {
	old := *t
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*t, w.waits = old[:len(old)-1], false
	return w
}
