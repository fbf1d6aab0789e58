package queue

import (
	"math/bits"

	"github.com/berthproject/berth/engine/decision"
)

// Cause is why a pod came into a pool.
type Cause uint8

// The causes; a change of kind bit k is firstChange+k.
const (
	PodAdd Cause = iota
	PodUpdate
	AttemptFailed
	BackoffComplete
	Leftover
	firstChange
	numCauses = firstChange + decision.NumChanges
)

// String is the cause's name in kube-scheduler's queue_incoming_pods_total.
func (c Cause) String() string {
	if c >= firstChange {
		return decision.ChangeName(int(c - firstChange))
	}
	return [...]string{"PodAdd", "PodUpdate", "ScheduleAttemptFailure", "BackoffComplete", "UnschedulableTimeout"}[c]
}

// causeOf names a change by the first of its kinds.
func causeOf(c decision.Change) Cause {
	return firstChange + Cause(bits.TrailingZeros32(uint32(c)))
}

// Arrivals calls f with the number of pods that ever came into each pool by
// each cause, in a fixed order, leaving out zeros.
func (q *Queue) Arrivals(f func(p Pool, c Cause, n uint64)) {
	for p := range q.arrivals {
		for c, n := range q.arrivals[p] {
			if n > 0 {
				f(Pool(p), Cause(c), n)
			}
		}
	}
}
