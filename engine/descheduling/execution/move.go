package execution

import (
	"fmt"
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
	Terminating              // the eviction was granted; there is no replacement yet
	Replaced                 // the replacement is unscheduled
	Placed                   // the replacement is scheduled and not Ready yet
	Finished
)

// String returns the stage as text.
func (s Stage) String() string {
	return [...]string{"waiting", "holding", "evicting", "terminating", "replaced", "placed", "finished"}[s]
}

// Outcome is the result of a move.
type Outcome uint8

// The outcomes.
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

// Move is the execution of a planned move.
type Move struct {
	*planning.Move
	Stage   Stage
	Since   time.Time // start of the stage
	Outcome Outcome
	// Reason is why the move waits or did not succeed.
	Reason string
	// Replacement is the pod that replaces the evicted one, or nil.
	Replacement *model.Pod
	// Evicted is when the eviction was granted, or when the pod was deleted by another client
	// while its node was reserved; zero if neither.
	Evicted time.Time

	notBefore         time.Time       // time of the next check
	placementFailures uint            // number of failed placement checks
	deniedSince       time.Time       // since when a budget refuses it
	hold              *model.Hold     // the reservation, or nil
	holdCreated       bool            // the reservation was created
	evictionPending   bool            // an eviction request is pending
	refusal           string          // the last refusal by the API server
	siblingsBefore    map[string]bool // UIDs of the owner's pods before the reservation and the eviction
	deletedAt         time.Time       // when the deletion of the pod was observed
	placementOutcome  Outcome         // the outcome by the replacement's node
	recorded          bool            // the outcome was recorded in the backoff
}

// inProgress reports whether the move has started and not finished.
func (x *Move) inProgress() bool { return x.Stage > Waiting && x.Stage < Finished }

func (x *Move) setStage(s Stage, now time.Time) { x.Stage, x.Since = s, now }

func (x *Move) end(now time.Time, o Outcome, reason string) {
	x.setStage(Finished, now)
	x.Outcome, x.Reason, x.hold = o, reason, nil
}

func (x *Move) abandon(now time.Time, reason string) { x.end(now, Abandoned, reason) }

// withdraw returns a started move, whose pod was not evicted, to Waiting.
func (x *Move) withdraw(now time.Time, reason string, d time.Duration) {
	x.setStage(Waiting, now)
	x.Reason, x.notBefore = reason, now.Add(d)
	x.hold, x.holdCreated, x.refusal, x.siblingsBefore, x.Evicted = nil, false, "", nil, time.Time{}
}

// stopReason returns why this plan must not move further pods of the workload, or "".
func (x *Move) stopReason() string {
	switch x.Outcome {
	case Returned, NotReady, Unscheduled, NotReplaced:
		return fmt.Sprintf("the move of another pod of its workload, %s, failed: %s", x.Pod.Key(), x.Reason)
	}
	return ""
}
