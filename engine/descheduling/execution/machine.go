package execution

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// Options configure a Machine.
type Options struct {
	// Holds reports whether the API server serves Holds. Without them, the backoff of a move is
	// kept in memory only. SetHoldsServed changes it.
	Holds bool
	// Profiles are the scheduler profiles by scheduler name. Seed breaks ties between nodes of
	// equal score.
	Profiles map[string]*framework.Profile
	Seed     uint64
	// Backoff records failed moves. Plans must be made with the same one.
	Backoff  *planning.MoveBackoff
	Timeouts Timeouts
	// Parallel is the number of moves of different workloads that may be in progress with reserved
	// nodes; 0 means 16. A move without a reservation runs alone: it starts when all moved pods
	// are deleted, and blocks other moves until its replacement is scheduled.
	Parallel int
}

// Timeouts bound how long the machine waits.
type Timeouts struct {
	EvictionObserved time.Duration // until a granted eviction is observed
	EvictionRetry    time.Duration // for retries of a refused eviction before the reservation is released
	Termination      time.Duration // until a pod is deleted, after its grace period
	Replacement      time.Duration // from the deletion of a pod until its controller creates another
	Scheduling       time.Duration // until a replacement is scheduled; part of the lifetime of a Hold
	Ready            time.Duration // until a scheduled replacement is Ready
	Budget           time.Duration // in total, until a budget allows a move; then the move is abandoned
	Plan             time.Duration // until a planned move starts; then it is abandoned; 0 means no limit
}

// DefaultTimeouts returns timeouts for clusters whose pods become Ready within five minutes.
func DefaultTimeouts() Timeouts {
	return Timeouts{EvictionObserved: 30 * time.Second, EvictionRetry: 5 * time.Second, Termination: time.Minute, Replacement: 30 * time.Second,
		Scheduling: time.Minute, Ready: 5 * time.Minute, Budget: 10 * time.Minute, Plan: 30 * time.Minute}
}

// Action is what the caller must do: Reserve, Evict, Avoid or Release. The caller reports the
// Result of each with HandleResult.
type Action interface {
	ActionID() uint64
}

// Reserve creates a Hold of type Reserve, complete but for Created and ResourceVersion. If a
// Hold of that name exists, its specification is replaced, which extends its lifetime.
type Reserve struct {
	ID   uint64
	Move *Move
	Hold *model.Hold
}

// Evict requests an eviction. A pod that does not exist or has another UID counts as done.
type Evict struct {
	ID   uint64
	Move *Move
}

// Avoid creates or replaces a Hold of type Avoid, because a pod of the owner returned to the
// node.
type Avoid struct {
	ID   uint64
	Move *Move
	Hold *model.Hold
}

// Release deletes a Hold that this descheduler created. A Hold that does not exist counts as
// done.
type Release struct {
	ID     uint64
	Hold   *model.Hold
	Reason string
}

// ActionID returns the ID of the action.
func (a Reserve) ActionID() uint64 { return a.ID }

// ActionID returns the ID of the action.
func (a Evict) ActionID() uint64 { return a.ID }

// ActionID returns the ID of the action.
func (a Avoid) ActionID() uint64 { return a.ID }

// ActionID returns the ID of the action.
func (a Release) ActionID() uint64 { return a.ID }

// Result is the result of an action.
type Result struct {
	Done      bool
	Message   string // why it was refused
	Permanent bool   // a retry fails until something changes
}

// Machine executes plans. Create it with New. It is not safe for concurrent use.
type Machine struct {
	o         Options
	moves     []*Move                                  // in plan order, after the moves of earlier plans that are in progress
	ended     []*Move                                  // moves of earlier plans whose pods may still be terminating
	plannedAt time.Time                                // when the plan was set
	lastID    uint64                                   // the last action ID
	pending   map[uint64]func(now time.Time, r Result) // handlers of results by action ID
	// releaseRetry holds the Holds being deleted, by key and victim, and when to retry.
	releaseRetry map[string]time.Time
}

// New returns a machine without a plan.
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

// Moves returns the moves of the last plan and, before them, those that were in progress when
// it was set. All are kept until the next SetPlan.
func (m *Machine) Moves() []*Move { return m.moves }

// HasInProgress reports whether a move is in progress. Waiting moves do not count; a new plan
// replaces them.
func (m *Machine) HasInProgress() bool {
	return slices.ContainsFunc(m.moves, (*Move).inProgress)
}

// InProgress returns the moves in progress, for planning.Options and Snapshot.ApplyInProgress.
// Their replacements are those of v, which must be the view that the plan is made on.
func (m *Machine) InProgress(v *View) (out []descheduling.InProgressMove) {
	for _, x := range m.moves {
		if x.inProgress() {
			out = append(out, descheduling.InProgressMove{Pod: x.Pod, Details: x.Details, To: x.To, Replacement: x.replacementIn(v), Hold: x.hold})
		}
	}
	return out
}

// SetHoldsServed sets whether the API server serves Holds.
func (m *Machine) SetHoldsServed(holds bool) { m.o.Holds = holds }

// HandleResult handles the result of the action with the ID.
func (m *Machine) HandleResult(now time.Time, id uint64, r Result) {
	if f := m.pending[id]; f != nil {
		delete(m.pending, id)
		f(now, r)
	}
}
