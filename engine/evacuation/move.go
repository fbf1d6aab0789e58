package evacuation

import (
	"time"

	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

// Stage is the progress of a move.
type Stage uint8

// The stages. From Holding to Placed, a move is in progress.
const (
	Waiting     Stage = iota // for its turn, a budget or its node
	Holding                  // its Hold is being created
	Evicting                 // its eviction is requested or about to be retried
	Terminating              // the pod terminates or is deleted; there is no replacement yet
	Replaced                 // the replacement is unscheduled
	Placed                   // the replacement is scheduled; a planned move has Finished once it is Ready
	Finished
)

// String returns the stage as text.
func (s Stage) String() string {
	return [...]string{"waiting", "holding", "evicting", "terminating", "replaced", "placed", "finished"}[s]
}

// Outcome is the result of a move.
type Outcome uint8

// The outcomes. A move of a drain only finishes when its pod is deleted without a replacement.
const (
	None            Outcome = iota // the move has not finished
	Moved                          // the replacement is Ready on the planned node, or on an equal one if none was reserved
	PlacedElsewhere                // the replacement is on another node, but not on the one that the pod left
	Returned                       // the replacement is on the node that the pod left
	NotReady                       // the replacement was not Ready in time
	Unscheduled                    // the replacement was not scheduled in time
	NotReplaced                    // no replacement was created
	CleanedUp                      // a finished pod was deleted
	Abandoned                      // the pod was not evicted, see Reason
)

// String returns the outcome as text.
func (o Outcome) String() string {
	return [...]string{"", "moved", "elsewhere", "returned", "not ready", "unscheduled", "not replaced", "cleaned up", "abandoned"}[o]
}

// Move is the eviction of a pod from a node, and its replacement.
type Move struct {
	Pod     *model.Pod     // as last observed
	From    string         // its node
	Planned *planning.Move // nil in a drain
	Stage   Stage
	Since   time.Time // start of the stage; of Placed in a drain, when the replacement was last Ready
	Outcome Outcome
	// Reason is why the move waits or did not succeed.
	Reason string
	// Replacement is the pod that replaces the evicted one, or nil.
	Replacement *model.Pod
	// EvictedAt is when the eviction was granted, or when it was observed that another client deleted the pod.
	EvictedAt time.Time

	notBefore time.Time       // time of the next check
	requested bool            // an eviction request is pending
	refusal   string          // the last refusal by the API server
	siblings  map[string]bool // the owner's pods before the eviction, by UID: whether they were scheduled
	deletedAt time.Time       // when the deletion of the pod was observed

	drainState
	planState
}

// Evicted reports whether the pod terminates or is deleted.
func (x *Move) Evicted() bool { return !x.EvictedAt.IsZero() }

// Deleted reports whether the pod is deleted.
func (x *Move) Deleted() bool { return !x.deletedAt.IsZero() }

// Cleanup reports whether the pod has finished and is only deleted.
func (x *Move) Cleanup() bool { return x.Planned != nil && x.Planned.Cleanup() }

// inProgress reports whether the move has started and not finished.
func (x *Move) inProgress() bool { return x.Stage > Waiting && x.Stage < Finished }

func (x *Move) setStage(s Stage, now time.Time) { x.Stage, x.Since = s, now }

// setEvicted records that the pod terminates.
func (x *Move) setEvicted(now time.Time) {
	x.EvictedAt, x.refusal, x.deniedSince, x.Block = now, "", time.Time{}, nil
	x.setStage(Terminating, now)
}

// reset returns a move whose pod was not evicted to Waiting.
func (x *Move) reset(now time.Time, reason string, delay time.Duration) {
	x.setStage(Waiting, now)
	x.Reason, x.notBefore = reason, now.Add(delay)
	x.EvictedAt, x.siblings, x.Replacement = time.Time{}, nil, nil
}

func (x *Move) end(now time.Time, o Outcome, reason string) {
	x.setStage(Finished, now)
	x.Outcome, x.Reason, x.hold = o, reason, nil
}
