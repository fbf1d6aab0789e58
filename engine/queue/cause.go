package queue

import (
	"math/bits"

	"github.com/berthproject/berth/engine/decision"
)

// Cause is why a pod was added to a pool.
type Cause uint8

// The causes. An action on an object of event kind k is firstEvent + k*NumActions +
// action.
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

// String returns the event label of kube-scheduler's queue_incoming_pods_total. SelfAudit
// exists only in Berth.
func (c Cause) String() string {
	if c >= firstEvent {
		n := int(c - firstEvent)
		return decision.EventName(n/int(decision.NumActions), decision.Action(n%int(decision.NumActions)))
	}
	return [...]string{"PodAdd", "PodUpdate", "PodUpdatePodSchedulingGatesEliminated", "ScheduleAttemptFailure",
		"BackoffComplete", "UnschedulableTimeout", "ForceActivate", "SelfAudit"}[c]
}

// eventCause returns the cause for the first kind in a set of events.
func eventCause(c decision.ClusterEvents, a decision.Action) Cause {
	return firstEvent + Cause(bits.TrailingZeros32(uint32(c)))*Cause(decision.NumActions) + Cause(a)
}

// IncomingPods calls f with the number of pods added to each pool by each cause, in a
// fixed order and without zeros. Stale trial pods that return to their group are not counted.
func (q *Queue) IncomingPods(f func(p Pool, c Cause, n uint64)) {
	for p := range q.incoming {
		for c, n := range q.incoming[p] {
			if n > 0 {
				f(Pool(p), Cause(c), n)
			}
		}
	}
}
