package workload

import (
	"cmp"
	"slices"
	"time"
)

// The pause after a pod died on the spot: First, doubled by each further one, Longest at most.
const (
	FirstPause   = 10 * time.Second
	LongestPause = 10 * time.Minute
)

// onTheSpot is below which a life counts as none; living longer forgives the past.
const onTheSpot = LongestPause

// Death is the end of a pod of one owner: it failed on a node, by no choice of its own.
type Death struct {
	Node, Cause string    // Cause: its status' reason (Evicted, OutOfcpu, NodeAffinity, ...)
	Born, Died  time.Time // Born: when it was made, or started if that is later
}

// DeathOf says how a pod died; ok is false for one that did not fail.
func DeathOf(p *Pod) (d Death, ok bool) {
	if p.Ended.IsZero() || p.Node == "" {
		return Death{}, false
	}
	d = Death{Node: p.Node, Cause: cmp.Or(p.Reason, p.Disrupted), Born: p.Created, Died: p.Ended}
	if p.Started.After(d.Born) {
		d.Born = p.Started
	}
	return d, d.Cause != ""
}

// Pause says until when an owner should make no pod, by how its last ones died: zero for at
// once. It is counted by node and cause, from the death: 10 s, doubled by each further
// one that died within ten minutes of its birth, up to 10 minutes. Pods that were born
// before the last counted death are no further attempt, but its companions.
//
// node is where the template puts the pod. Where it names none (""), the scheduler may find
// a better place, so only the second death in the same way makes a pause.
func Pause(deaths []Death, node string) (until time.Time, why Death) {
	deaths = slices.Clone(deaths)
	slices.SortFunc(deaths, func(a, b Death) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Cause, b.Cause), a.Died.Compare(b.Died), a.Born.Compare(b.Born))
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
		count, last := inARow(chain)
		if node == "" {
			count--
		}
		if count > 0 {
			if t := last.Died.Add(pauseAfter(count)); t.After(until) {
				until, why = t, last
			}
		}
	}
	return until, why
}

// inARow counts the last attempts that died on the spot, of deaths in their order, and tells the last one.
func inARow(chain []Death) (count int, last Death) {
	for _, d := range chain {
		switch {
		case d.Died.Sub(d.Born) >= onTheSpot:
			count = 0
		case count > 0 && d.Born.Before(last.Died):
			continue // made before anybody knew
		default:
			count++
		}
		last = d
	}
	return count, last
}

// pauseAfter is the pause after so many deaths in a row, 1 at least.
func pauseAfter(n int) time.Duration {
	if n > 7 { // 10 s · 2^6 is beyond the longest
		return LongestPause
	}
	return min(FirstPause<<(n-1), LongestPause)
}
