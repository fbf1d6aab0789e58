package carry

import (
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/rebalance/plan"
)

// Stage is how far a move is on its way.
type Stage uint8

// The stages. From Holding to Placed a move is under way.
const (
	Waiting  Stage = iota // for its turn, for a budget, for its place
	Holding               // its Hold is being made
	Evicting              // its eviction is being asked for, or will be again in a moment
	Leaving               // its eviction was granted; the replacement is not there yet
	Replaced              // the replacement waits for a node
	Placed                // the replacement has a node, and is not Ready yet
	Over
)

// String is the stage in a word.
func (s Stage) String() string {
	return [...]string{"waiting", "holding", "evicting", "leaving", "replaced", "placed", "over"}[s]
}

// Outcome is what became of a move.
type Outcome uint8

// The outcomes.
const (
	None       Outcome = iota // it is not over
	Moved                     // the replacement is on the planned node, and Ready
	Elsewhere                 // it is on another node, not that which it left
	Returned                  // it is back on the node that it left
	Unready                   // it has a node, and is not Ready in time
	Unplaced                  // it has no node in time
	Unreplaced                // nobody came for it
	CleanedUp                 // a finished pod was removed
	GivenUp                   // it was not evicted; Why says why
	numOutcomes
)

// String is the outcome in a word.
func (o Outcome) String() string {
	return [...]string{"", "moved", "elsewhere", "returned", "not ready", "unplaced", "not replaced", "cleaned up", "given up"}[o]
}

// Move is a move of a plan on its way.
type Move struct {
	*plan.Move
	Stage   Stage
	Since   time.Time // when the stage began
	Outcome Outcome
	// Why is what it waits for, or why it was given up.
	Why string
	// Replacement is the pod that came for it; nil: none, or not yet.
	Replacement *model.Pod
	// Evicted is when the eviction was granted; zero: it was not.
	Evicted time.Time
}
