package execution

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/descheduling/planning"
)

// SetPlan takes a plan in place of what has not begun yet of the last one.
func (m *Machine) SetPlan(now time.Time, p *planning.Plan) {
	var kept []*Move
	for _, x := range m.moves {
		switch {
		case x.inProgress():
			kept = append(kept, x)
		case !x.Evicted.IsZero() && !x.Cleanup():
			m.ended = append(m.ended, x)
		}
	}
	for _, x := range p.Moves {
		kept = append(kept, &Move{Move: x, Since: now})
	}
	m.moves, m.plannedAt = kept, now
	m.o.Backoff.DeleteExpired(now)
}

// Step says what to do now, and when to call again at the latest (zero: only a change brings something to do).
// Step must be called again after changes of the view, and after Answer.
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
			t.stepLeaving(x)
		}
	}
	t.releaseHolds()
	t.surveyMoves()
	for _, x := range m.moves {
		if x.Stage == Waiting {
			t.begin(x)
		}
	}
	return t.actions, t.wake
}

// step is one Step.
type step struct {
	m       *Machine
	now     time.Time
	v       *View
	actions []Action
	wake    time.Time

	busy            map[string]*Move  // moves under way, by owner
	stopped         map[string]string // why no more pods of an owner are moved by this plan
	unplaced        int               // moves under way whose replacement has no node yet
	exclusive       bool              // the place of one of these is not held: it is to be the only one
	terminating     bool              // a pod that is moved is still there, and its replacement has a node
	placementsTried int               // how many places were looked at
	cleaned         int               // how many finished pods were to go
	ledger          *budgetLedger
	forks           [2]*clusterForks // by plan.Mode
}

// surveyMoves says what is under way.
func (t *step) surveyMoves() {
	t.busy, t.stopped = map[string]*Move{}, map[string]string{}
	for _, x := range t.m.moves {
		if x.inProgress() {
			t.countInProgress(x)
		} else if t.isTerminating(x) {
			t.terminating = true
		}
		if why := x.stopReason(); why != "" && x.Pod.Owner.UID != "" {
			t.stopped[x.Pod.Owner.UID] = why
		}
	}
	t.m.ended = slices.DeleteFunc(t.m.ended, func(x *Move) bool { return !t.isTerminating(x) })
	t.terminating = t.terminating || len(t.m.ended) > 0
}

// isTerminating says that a move is over, and its pod still on its way out. Its node is going to be a better one, which a scheduler
// that heeds no Holds may then take for whoever waits for a node.
func (t *step) isTerminating(x *Move) bool {
	if x.Stage != Finished || x.Evicted.IsZero() || x.Cleanup() {
		return false
	}
	p := t.v.Pod(x.Pod.UID)
	return p != nil && p.Deleting
}

// countInProgress counts a move that is under way.
func (t *step) countInProgress(x *Move) {
	if x.Cleanup() {
		return
	}
	t.busy[x.Pod.Owner.UID] = x
	if x.Stage < Placed {
		t.unplaced++
		t.exclusive = t.exclusive || x.Mode == planning.WithoutHolds
	} else if x.goneAt.IsZero() {
		t.terminating = true
	}
}

// wakeAt has Step called again at a time.
func (t *step) wakeAt(at time.Time) {
	if at.After(t.now) && (t.wake.IsZero() || at.Before(t.wake)) {
		t.wake = at
	}
}

// isDue says whether a time has come, and has Step called again when it does.
func (t *step) isDue(at time.Time) bool {
	if at.After(t.now) {
		t.wakeAt(at)
		return false
	}
	return true
}

// emit does something, and says what its answer is for.
func (t *step) emit(newAction func(id uint64) Action, answer func(now time.Time, a Result)) {
	t.m.lastID++
	t.m.pending[t.m.lastID] = answer
	t.actions = append(t.actions, newAction(t.m.lastID))
}
