package workload

import (
	"cmp"
	"slices"
	"time"
)

// InitialBackoff is the delay after a pod failed soon after its start. Each further failure doubles it, up to MaxBackoff.
const (
	InitialBackoff = 10 * time.Second
	MaxBackoff     = 10 * time.Minute
)

// quickFailure is the runtime below which a failure counts as quick. A failure after a longer runtime resets the delay.
const quickFailure = MaxBackoff

// PodFailure is the failure of a pod of one owner on a node.
type PodFailure struct {
	Node, Cause         string    // Cause is the reason of its status (Evicted, OutOfcpu, NodeAffinity, ...)
	StartedAt, FailedAt time.Time // StartedAt is the later of its creation and its start
}

// FailureOf returns the failure of a pod. ok is false if the pod has not ended on a node or has no cause.
func FailureOf(p *Pod) (f PodFailure, ok bool) {
	if p.Ended.IsZero() || p.Node == "" {
		return PodFailure{}, false
	}
	f = PodFailure{Node: p.Node, Cause: cmp.Or(p.Reason, p.Disrupted), StartedAt: p.Created, FailedAt: p.Ended}
	if p.Started.After(f.StartedAt) {
		f.StartedAt = p.Started
	}
	return f, f.Cause != ""
}

// BackoffUntil returns the time before which an owner should not create a pod, and the failure that causes the
// delay; zero means now. Failures count by node and cause. The delay from the last failure is 10 s, doubled by
// each further failure within ten minutes of its start, up to 10 minutes. Pods that existed before the last
// counted failure do not count.
//
// node is where the template puts the pod. If it is "", the scheduler may choose another node, so only the
// second failure of the same kind causes a delay.
func BackoffUntil(failures []PodFailure, node string) (until time.Time, reason PodFailure) {
	failures = slices.Clone(failures)
	slices.SortFunc(failures, func(a, b PodFailure) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Cause, b.Cause), a.FailedAt.Compare(b.FailedAt), a.StartedAt.Compare(b.StartedAt))
	})
	for len(failures) > 0 {
		first, n := failures[0], 1
		for n < len(failures) && failures[n].Node == first.Node && failures[n].Cause == first.Cause {
			n++
		}
		sequence := failures[:n]
		failures = failures[n:]
		if node != "" && node != first.Node {
			continue
		}
		count, last := countConsecutive(sequence)
		if node == "" {
			count--
		}
		if count > 0 {
			if t := last.FailedAt.Add(backoffAfter(count)); t.After(until) {
				until, reason = t, last
			}
		}
	}
	return until, reason
}

// countConsecutive returns the number of consecutive quick failures and the last one.
func countConsecutive(failures []PodFailure) (count int, last PodFailure) {
	for _, f := range failures {
		switch {
		case f.FailedAt.Sub(f.StartedAt) >= quickFailure:
			count = 0
		case count > 0 && f.StartedAt.Before(last.FailedAt):
			continue // created before the last failure
		default:
			count++
		}
		last = f
	}
	return count, last
}

// backoffAfter returns the delay after n consecutive failures, at least 1.
func backoffAfter(n int) time.Duration {
	if n > 7 { // 10 s · 2^6 exceeds the maximum
		return MaxBackoff
	}
	return min(InitialBackoff<<(n-1), MaxBackoff)
}
