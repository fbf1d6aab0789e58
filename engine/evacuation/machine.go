package evacuation

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Machine requests evictions and follows the evicted pods and their replacements. NewDrain and NewPlanned create it,
// each with a policy. It is not safe for concurrent use.
type Machine struct {
	policy   policy
	timeouts Timeouts
	view     *View
	moves    []*Move
	lastID   uint64                                   // the last Action.ID
	pending  map[uint64]func(now time.Time, r Result) // handlers of results by Action.ID
}

// policy decides which pods to evict, when, and what else an eviction needs.
type policy interface {
	// prepare is called at the start of a Step.
	prepare(t *step)
	// begin starts moves. It is called after the moves in progress were advanced.
	begin(t *step)
	// check returns why the eviction of a prepared or refused move must not be requested now, or "". final reports whether
	// it must never be requested.
	check(t *step, x *Move) (reason string, final bool)
	// debit debits the budgets of the pod for an eviction that is requested now. A retry does not debit them again.
	debit(t *step, x *Move)
	// withdraw returns a move whose pod was not evicted to Waiting, or ends it. If permanent, a retry fails until
	// something changes.
	withdraw(now time.Time, x *Move, reason string, permanent bool)
	// observePlaced is called in each Step for a move whose replacement is scheduled.
	observePlaced(t *step, x *Move)
	// fail ends a move whose pod has no scheduled replacement in time.
	fail(t *step, x *Move, o Outcome, reason string)
}

func newMachine(p policy, t Timeouts, v *View) *Machine {
	return &Machine{policy: p, timeouts: t, view: v, pending: map[uint64]func(time.Time, Result){}}
}

// ActionKind is the kind of an Action.
type ActionKind uint8

// The kinds of actions.
const (
	// Evict requests the eviction of Move.Pod. A pod that does not exist or has another UID counts as evicted. SurgePod is
	// the pod that replaces it because of a surge, or nil; it must be announced to the owner before the eviction.
	Evict ActionKind = iota
	// Reserve creates Hold, which is of type Reserve and complete except for Created and ResourceVersion. If a Hold of
	// that name exists, Reserve replaces its specification, which extends its lifetime.
	Reserve
	// Avoid creates or replaces Hold, which is of type Avoid, because a pod of the owner returned to the node.
	Avoid
	// Release deletes Hold, which this descheduler created, because of Reason. A Hold that does not exist counts as
	// deleted.
	Release
	// SurgeUp adds a replica to the owner of Move.Pod, SurgeDown removes it again.
	SurgeUp
	SurgeDown
)

// Action is what the caller must do. It reports the Result with HandleResult.
type Action struct {
	ID       uint64
	Kind     ActionKind
	Move     *Move
	SurgePod *model.Pod
	Hold     *model.Hold
	Reason   string
}

// Result is the result of an action.
type Result struct {
	Done      bool
	Message   string // why it failed
	Permanent bool   // a retry fails until something changes
}

// Moves returns all moves. Those of a drain are in the order of eviction, then in the planned order. Those of the last
// plan follow the ones that were in progress when it was set.
func (m *Machine) Moves() []*Move { return m.moves }

// HandleResult handles the result of the action with the ID.
func (m *Machine) HandleResult(now time.Time, id uint64, r Result) {
	if handle := m.pending[id]; handle != nil {
		delete(m.pending, id)
		handle(now, r)
	}
}

// Step returns the actions to take now. Call it again after changes of the view, after HandleResult, and at the
// returned time at the latest. A zero time means that no timeout is pending.
func (m *Machine) Step(now time.Time) ([]Action, time.Time) {
	t := &step{Machine: m, now: now, replacements: map[string]bool{}}
	for _, x := range m.moves {
		if x.Replacement != nil {
			t.replacements[x.Replacement.UID] = true
		}
	}
	m.policy.prepare(t)
	for _, x := range m.moves {
		switch x.Stage {
		case Evicting:
			t.retryEviction(x)
		case Terminating, Replaced, Placed:
			t.follow(x)
		}
	}
	m.policy.begin(t)
	return t.actions, t.wake
}

// step is the state of one call of Machine.Step.
type step struct {
	*Machine
	now          time.Time
	actions      []Action
	wake         time.Time
	replacements map[string]bool // UIDs of the replacements of all moves
}

// emit adds an action and the handler of its result.
func (t *step) emit(a Action, handle func(now time.Time, r Result)) {
	t.lastID++
	a.ID = t.lastID
	t.pending[a.ID] = handle
	t.actions = append(t.actions, a)
}

// wakeAt requests a call of Step at a time.
func (t *step) wakeAt(at time.Time) {
	if at.After(t.now) && (t.wake.IsZero() || at.Before(t.wake)) {
		t.wake = at
	}
}

// isDue reports whether a time has been reached, and otherwise requests a call of Step then.
func (t *step) isDue(at time.Time) bool {
	t.wakeAt(at)
	return !at.After(t.now)
}

// isOver is isDue for the end of a timeout, where zero means no limit.
func (t *step) isOver(since time.Time, timeout time.Duration) bool {
	return timeout > 0 && t.isDue(since.Add(timeout))
}

// wait delays a move by d, for a reason. The pod of the move must not be evicted yet.
func (t *step) wait(x *Move, reason string, d time.Duration) {
	x.Reason, x.notBefore = reason, t.now.Add(d)
	t.wakeAt(x.notBefore)
}
