package workload

import (
	"cmp"
	"slices"
	"time"
)

// The pause after a pod died on the spot: First, doubled by each further one, Longest at most.
const (
	InitialBackoff = 10 * time.Second
	MaxBackoff     = 10 * time.Minute
)

// quickFailure is below which a life counts as none; living longer forgives the past.
const quickFailure = MaxBackoff

// PodFailure is the end of a pod of one owner: it failed on a node, by no choice of its own.
type PodFailure struct {
	Node, Cause         string    // Cause: its status' reason (Evicted, OutOfcpu, NodeAffinity, ...)
	StartedAt, FailedAt time.Time // Born: when it was made, or started if that is later
}

// FailureOf says how a pod died; ok is false for one that did not fail.
func FailureOf(p *Pod) (d PodFailure, ok bool) {
	if p.Ended.IsZero() || p.Node == "" {
		return PodFailure{}, false
	}
	d = PodFailure{Node: p.Node, Cause: cmp.Or(p.Reason, p.Disrupted), StartedAt: p.Created, FailedAt: p.Ended}
	if p.Started.After(d.StartedAt) {
		d.StartedAt = p.Started
	}
	return d, d.Cause != ""
}

// BackoffUntil says until when an owner should make no pod, by how its last ones died: zero for at
// once. It is counted by node and cause, from the death: 10 s, doubled by each further
// one that died within ten minutes of its birth, up to 10 minutes. Pods that were born
// before the last counted death are no further attempt, but its companions.
//
// node is where the template puts the pod. Where it names none (""), the scheduler may find
// a better place, so only the second death in the same way makes a pause.
func BackoffUntil(deaths []PodFailure, node string) (until time.Time, why PodFailure) {
	deaths = slices.Clone(deaths)
	slices.SortFunc(deaths, func(a, b PodFailure) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Cause, b.Cause), a.FailedAt.Compare(b.FailedAt), a.StartedAt.Compare(b.StartedAt))
	})
	for len(deaths) > 0 {
		first, n := deaths[0], 1
		for n < len(deaths) && deaths[n].Node == first.Node && deaths[n].Cause == first.Cause {
			n++
		}
		chain := deaths[:n]
		deaths = deaths[n:]
		if node != "" && node != first.Node {
			continue
		}
		count, last := countConsecutive(chain)
		if node == "" {
			count--
		}
		if count > 0 {
			if t := last.FailedAt.Add(backoffAfter(count)); t.After(until) {
				until, why = t, last
			}
		}
	}
	return until, why
}

// countConsecutive counts the last attempts that died on the spot, of deaths in their order, and tells the last one.
func countConsecutive(chain []PodFailure) (count int, last PodFailure) {
	for _, d := range chain {
		switch {
		case d.FailedAt.Sub(d.StartedAt) >= quickFailure:
			count = 0
		case count > 0 && d.StartedAt.Before(last.FailedAt):
			continue // made before anybody knew
		default:
			count++
		}
		last = d
	}
	return count, last
}

// backoffAfter is the pause after so many deaths in a row, 1 at least.
func backoffAfter(n int) time.Duration {
	if n > 7 { // 10 s · 2^6 is beyond the longest
		return MaxBackoff
	}
	return min(InitialBackoff<<(n-1), MaxBackoff)
}
