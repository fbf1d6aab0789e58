package execution

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

// Stage is how far a move is on its way.
type Stage uint8

// The stages. From Holding to Placed a move is under way.
const (
	Waiting     Stage = iota // for its turn, for a budget, for its place
	Holding                  // its Hold is being made
	Evicting                 // its eviction is being asked for, or will be again in a moment
	Terminating              // its eviction was granted; the replacement is not there yet
	Replaced                 // the replacement waits for a node
	Placed                   // the replacement has a node, and is not Ready yet
	Finished
)

// String is the stage in a word.
func (s Stage) String() string {
	return [...]string{"waiting", "holding", "evicting", "leaving", "replaced", "placed", "over"}[s]
}

// Outcome is what became of a move.
type Outcome uint8

// The outcomes.
const (
	None            Outcome = iota // it is not over
	Moved                          // the replacement is on the planned node, or one as good where none was held, and Ready
	PlacedElsewhere                // it is on another node, not that which it left
	Returned                       // it is back on the node that it left
	NotReady                       // it has a node, and is not Ready in time
	Unscheduled                    // it has no node in time
	NotReplaced                    // nobody came for it
	CleanedUp                      // a finished pod was removed
	Abandoned                      // it was not evicted; Why says why
)

// String is the outcome in a word.
func (o Outcome) String() string {
	return [...]string{"", "moved", "elsewhere", "returned", "not ready", "unplaced", "not replaced", "cleaned up", "given up"}[o]
}

// Move is a move of a plan on its way.
type Move struct {
	*planning.Move
	Stage   Stage
	Since   time.Time // when the stage began
	Outcome Outcome
	// Reason is what it waits for, or why it came to another end than it should.
	Reason string
	// Replacement is the pod that came for it; nil: none, or not yet.
	Replacement *model.Pod
	// Evicted is when the eviction was granted, or the pod was seen to leave by itself with its place held; zero:
	// neither.
	Evicted time.Time

	notBefore         time.Time       // it is not looked at again before
	placementFailures uint            // how often its place did not do
	deniedSince       time.Time       // since when a budget does not allow it
	hold              *model.Hold     // of its place; nil: none is to be there
	holdCreated       bool            // that was made
	evictionPending   bool            // its eviction is being asked for
	refusal           string          // what the API server said to the last one
	siblingsBefore    map[string]bool // pods of its owner when its place was held, and when it was evicted, by uid
	goneAt            time.Time       // when it was seen to be gone
	placementOutcome  Outcome         // what the replacement's node means
	recorded          bool            // what had to be remembered of that is
}

// inProgress says that something was begun and is not over.
func (x *Move) inProgress() bool { return x.Stage > Waiting && x.Stage < Finished }

func (x *Move) setStage(s Stage, now time.Time) { x.Stage, x.Since = s, now }

func (x *Move) end(now time.Time, o Outcome, why string) {
	x.setStage(Finished, now)
	x.Outcome, x.Reason, x.hold = o, why, nil
}

func (x *Move) abandon(now time.Time, why string) { x.end(now, Abandoned, why) }

// withdraw has a move that was begun, and whose pod is still there, wait again.
func (x *Move) withdraw(now time.Time, why string, d time.Duration) {
	x.setStage(Waiting, now)
	x.Reason, x.notBefore = why, now.Add(d)
	x.hold, x.holdCreated, x.refusal, x.siblingsBefore, x.Evicted = nil, false, "", nil, time.Time{}
}

// stopReason says why no more pods of its workload are moved by this plan; empty: they may be.
func (x *Move) stopReason() string {
	switch x.Outcome {
	case Returned, NotReady, Unscheduled, NotReplaced:
		return fmt.Sprintf("another pod of its workload, %s, was moved in vain: %s", x.Pod.Key(), x.Reason)
	}
	return ""
}
