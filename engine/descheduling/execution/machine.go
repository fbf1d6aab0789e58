package execution

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// Options are how plans are carried out.
type Options struct {
	// Holds: the API serves Holds. Without, a return is remembered in memory alone. Serve changes it.
	Holds bool
	// Profiles are those of the schedulers of the pods, by scheduler name; Seed chooses between equal nodes.
	Profiles map[string]*placement.Profile
	Seed     uint64
	// Backoff takes in the moves that were in vain; plans must be made with the same.
	Backoff  *planning.MoveBackoff
	Timeouts Timeouts
	// Parallel is how many moves may be under way at once, of different workloads, where places
	// are held; 0: 16. One whose place is not held is alone until its replacement has a node, and begins
	// when all pods that were moved have left.
	Parallel int
}

// Timeouts is how long the world may take before it is not waited for any more.
type Timeouts struct {
	EvictionObserved time.Duration // until an eviction that was granted shows
	EvictionRetry    time.Duration // while an eviction is asked for again before its place is given up for a while
	Termination      time.Duration // until a pod is gone, after its grace is over
	Replacement      time.Duration // after a pod is gone, until its owner makes another
	Scheduling       time.Duration // until a replacement has a node; a Hold lasts so long after the grace
	Ready            time.Duration // until a replacement that has a node is Ready
	Budget           time.Duration // in all, for a budget to allow a move; after that it is given up, for the next plan
	Plan             time.Duration // until a move of a plan begins; after that it is given up, too; 0: as long as it takes
}

// DefaultTimeouts suits clusters whose pods are Ready within five minutes.
func DefaultTimeouts() Timeouts {
	return Timeouts{EvictionObserved: 30 * time.Second, EvictionRetry: 5 * time.Second, Termination: time.Minute, Replacement: 30 * time.Second,
		Scheduling: time.Minute, Ready: 5 * time.Minute, Budget: 10 * time.Minute, Plan: 30 * time.Minute}
}

// Action is what is to be done: Reserve, Evict, Avoid or Release. Each gets an Answer under its ID.
type Action interface {
	ActionID() uint64 // its ID
}

// Reserve makes a Hold of type Reserve, in which all is filled in but Created and ResourceVersion. Name is
// cluster.HoldName; if there is one of that name, its specification is to be this one: so is a Hold made to last longer.
type Reserve struct {
	ID   uint64
	Move *Move
	Hold *model.Hold
}

// Evict asks the eviction API for a pod. A pod that is not there any more, or has another uid, counts as done.
type Evict struct {
	ID   uint64
	Move *Move
}

// Avoid makes a Hold of type Avoid, as Reserve does its own: an owner's pod came back.
type Avoid struct {
	ID   uint64
	Move *Move
	Hold *model.Hold
}

// Release deletes a Hold of ours. One that is not there counts as done.
type Release struct {
	ID     uint64
	Hold   *model.Hold
	Reason string
}

// ActionID is the action's ID.
func (a Reserve) ActionID() uint64 { return a.ID }

// ActionID is the action's ID.
func (a Evict) ActionID() uint64 { return a.ID }

// ActionID is the action's ID.
func (a Avoid) ActionID() uint64 { return a.ID }

// ActionID is the action's ID.
func (a Release) ActionID() uint64 { return a.ID }

// Result is what became of an action.
type Result struct {
	Done      bool
	Message   string // of a refusal
	Permanent bool   // it is no use to ask again before somebody changes something
}

// Machine carries out plans. Make it with New. It is a plain value of its owner: one caller at a time.
type Machine struct {
	o         Options
	moves     []*Move   // of the plan, in its order, behind those of earlier plans that are under way
	ended     []*Move   // of plans before, whose pods may still be on their way out
	plannedAt time.Time // when the plan was
	lastID    uint64    // the last ID
	pending   map[uint64]func(now time.Time, a Result)
	// releaseRetry are the Holds whose deletion was asked for, by key and victim, and until when that is not asked for again.
	releaseRetry map[string]time.Time
}

// New is a machine without a plan.
func New(o Options) *Machine {
	if o.Parallel == 0 {
		o.Parallel = 16
	}
	if o.Timeouts == (Timeouts{}) {
		o.Timeouts = DefaultTimeouts()
	}
	if o.Backoff == nil {
		o.Backoff = planning.NewMoveBackoff()
	}
	return &Machine{o: o, pending: map[uint64]func(time.Time, Result){}, releaseRetry: map[string]time.Time{}}
}

// Moves are the moves of the last plan that was taken, and before them those that were under way then. All are
// kept until the next Take.
func (m *Machine) Moves() []*Move { return m.moves }

// HasInProgress says that a move is under way. Moves that only wait do not count; a new plan replaces them.
func (m *Machine) HasInProgress() bool {
	return slices.ContainsFunc(m.moves, (*Move).inProgress)
}

// InProgress are the moves that are: a new plan has to be made with these (plan.Options, Snapshot.Foresee). Their replacements
// are those of the view, which is to be the one that the plan is made on: what Step has not seen yet may be there.
func (m *Machine) InProgress(v *View) (out []descheduling.InProgressMove) {
	for _, x := range m.moves {
		if x.inProgress() {
			out = append(out, descheduling.InProgressMove{Pod: x.Pod, Details: x.Details, To: x.To, Replacement: x.replacementIn(v), Hold: x.hold})
		}
	}
	return out
}

// SetHoldsServed says whether the API serves Holds by now.
func (m *Machine) SetHoldsServed(holds bool) { m.o.Holds = holds }

// HandleResult takes in what became of an action.
func (m *Machine) HandleResult(now time.Time, id uint64, a Result) {
	if f := m.pending[id]; f != nil {
		delete(m.pending, id)
		f(now, a)
	}
}
