package execution

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/descheduling/planning"
)

// SetPlan discards the moves that have not started, and adds those of p.
func (m *Machine) SetPlan(now time.Time, p *planning.Plan) {
	var remaining []*Move
	for _, x := range m.moves {
		switch {
		case x.inProgress():
			remaining = append(remaining, x)
		case !x.Evicted.IsZero() && !x.Cleanup():
			m.ended = append(m.ended, x)
		}
	}
	for _, x := range p.Moves {
		remaining = append(remaining, &Move{Move: x, Since: now})
	}
	m.moves, m.plannedAt = remaining, now
	m.o.Backoff.DeleteExpired(now)
}

// Step returns the actions to take now and the latest time of the next call; zero means after a
// change only. Call it after changes of the view and after HandleResult.
func (m *Machine) Step(now time.Time, v *View) ([]Action, time.Time) {
	t := &step{m: m, now: now, v: v}
	for _, x := range m.moves {
		if x.Stage == Holding {
			t.stepHolding(x)
		}
	}
	for _, x := range m.moves {
		switch x.Stage {
		case Evicting:
			t.stepEvicting(x)
		case Terminating, Replaced, Placed:
			t.stepReplacement(x)
		}
	}
	t.releaseHolds()
	t.countMoves()
	for _, x := range m.moves {
		if x.Stage == Waiting {
			t.begin(x)
		}
	}
	return t.actions, t.wake
}

// step is the state of one call of Machine.Step.
type step struct {
	m       *Machine
	now     time.Time
	v       *View
	actions []Action
	wake    time.Time

	movesByOwner    map[string]*Move  // moves in progress by owner
	stopped         map[string]string // why no further pods of an owner are moved by this plan
	unplaced        int               // moves in progress whose replacement is unscheduled
	exclusive       bool              // a move in progress has no reservation and must run alone
	terminating     bool              // a moved pod is still terminating although its replacement is scheduled
	placementChecks int               // number of placement checks
	cleaned         int               // number of finished pods to delete
	ledger          *budgetLedger
	forks           [2]*clusterForks // by planning.Mode
}

func (t *step) countMoves() {
	t.movesByOwner, t.stopped = map[string]*Move{}, map[string]string{}
	for _, x := range t.m.moves {
		if x.inProgress() {
			t.countInProgress(x)
		} else if t.isTerminating(x) {
			t.terminating = true
		}
		if reason := x.stopReason(); reason != "" && x.Pod.Owner.UID != "" {
			t.stopped[x.Pod.Owner.UID] = reason
		}
	}
	t.m.ended = slices.DeleteFunc(t.m.ended, func(x *Move) bool { return !t.isTerminating(x) })
	t.terminating = t.terminating || len(t.m.ended) > 0
}

// isTerminating reports whether a move has finished while its pod still terminates. A
// scheduler that ignores Holds could give the capacity that becomes free to any pending pod.
func (t *step) isTerminating(x *Move) bool {
	if x.Stage != Finished || x.Evicted.IsZero() || x.Cleanup() {
		return false
	}
	p := t.v.Pod(x.Pod.UID)
	return p != nil && p.Deleting
}

func (t *step) countInProgress(x *Move) {
	if x.Cleanup() {
		return
	}
	t.movesByOwner[x.Pod.Owner.UID] = x
	if x.Stage < Placed {
		t.unplaced++
		t.exclusive = t.exclusive || x.Mode == planning.WithoutHolds
	} else if x.deletedAt.IsZero() {
		t.terminating = true
	}
}

// wakeAt requests a call of Step at a time.
func (t *step) wakeAt(at time.Time) {
	if at.After(t.now) && (t.wake.IsZero() || at.Before(t.wake)) {
		t.wake = at
	}
}

// isDue reports whether a time has been reached, and otherwise requests a call of Step then.
func (t *step) isDue(at time.Time) bool {
	if at.After(t.now) {
		t.wakeAt(at)
		return false
	}
	return true
}

// emit adds an action and the handler of its result.
func (t *step) emit(newAction func(id uint64) Action, handle func(now time.Time, a Result)) {
	t.m.lastID++
	t.m.pending[t.m.lastID] = handle
	t.actions = append(t.actions, newAction(t.m.lastID))
}
