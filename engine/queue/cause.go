package queue

import (
	"math/bits"

	"github.com/berthproject/berth/engine/decision"
)

// Cause is why a pod came into a pool.
type Cause uint8

// The causes. An action on an object of the kind with bit number k is
// firstChange + k*NumActions + action.
const (
	PodAdd Cause = iota
	PodUpdate
	GatesRemoved
	AttemptFailed
	BackoffComplete
	UnschedulableTimeout
	ForceActivate
	SelfAudit
	firstEvent
	numCauses = firstEvent + decision.NumEvents*Cause(decision.NumActions)
)

// String is the cause's name in kube-scheduler's queue_incoming_pods_total.
// SelfAudit is ours.
func (c Cause) String() string {
	if c >= firstEvent {
		n := int(c - firstEvent)
		return decision.EventName(n/int(decision.NumActions), decision.Action(n%int(decision.NumActions)))
	}
	return [...]string{"PodAdd", "PodUpdate", "PodUpdatePodSchedulingGatesEliminated", "ScheduleAttemptFailure",
		"BackoffComplete", "UnschedulableTimeout", "ForceActivate", "SelfAudit"}[c]
}

// eventCause names a change by the first of its kinds.
func eventCause(c decision.ClusterEvents, a decision.Action) Cause {
	return firstEvent + Cause(bits.TrailingZeros32(uint32(c)))*Cause(decision.NumActions) + Cause(a)
}

// IncomingPods calls f with the number of pods that ever came into each pool by
// each cause, in a fixed order, leaving out zeros. A pod that goes back to sleep
// without a decision is not counted.
func (q *Queue) IncomingPods(f func(p Pool, c Cause, n uint64)) {
	for p := range q.incoming {
		for c, n := range q.incoming[p] {
			if n > 0 {
				f(Pool(p), Cause(c), n)
			}
		}
	}
}
