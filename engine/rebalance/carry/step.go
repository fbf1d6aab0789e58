package carry

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/rebalance/plan"
)

// Take takes a plan in place of what has not begun yet of the last one.
func (m *Machine) Take(now time.Time, p *plan.Plan) {
	var kept []*Move
	for _, x := range m.moves {
		switch {
		case x.underWay():
			kept = append(kept, x)
		case !x.Evicted.IsZero() && !x.Cleanup():
			m.ended = append(m.ended, x)
		}
	}
	for _, x := range p.Moves {
		kept = append(kept, &Move{Move: x, Since: now})
	}
	m.moves, m.taken = kept, now
	m.o.Memory.Sweep(now)
}

// Step says what to do now, and when to call again at the latest (zero: only a change brings something to do).
// Step must be called again after changes of the view, and after Answer.
func (m *Machine) Step(now time.Time, v *View) ([]Action, time.Time) {
	t := &turn{m: m, now: now, v: v}
	for _, x := range m.moves {
		if x.Stage == Holding {
			t.holding(x)
		}
	}
	for _, x := range m.moves {
		switch x.Stage {
		case Evicting:
			t.evicting(x)
		case Leaving, Replaced, Placed:
			t.leaving(x)
		}
	}
	t.sweep()
	t.survey()
	for _, x := range m.moves {
		if x.Stage == Waiting {
			t.begin(x)
		}
	}
	return t.out, t.wake
}

// turn is one Step.
type turn struct {
	m    *Machine
	now  time.Time
	v    *View
	out  []Action
	wake time.Time

	busy    map[string]*Move  // moves under way, by owner
	stopped map[string]string // why no more pods of an owner are moved by this plan
	under   int               // moves under way whose replacement has no node yet
	alone   bool              // the place of one of these is not held: it is to be the only one
	parting bool              // a pod that is moved is still there, and its replacement has a node
	tried   int               // how many places were looked at
	cleaned int               // how many finished pods were to go
	budgets *books
	places  [2]*places // by plan.Mode
}

// survey says what is under way.
func (t *turn) survey() {
	t.busy, t.stopped = map[string]*Move{}, map[string]string{}
	for _, x := range t.m.moves {
		if x.underWay() {
			t.begun(x)
		} else if t.lingers(x) {
			t.parting = true
		}
		if why := x.stops(); why != "" && x.Pod.Owner.UID != "" {
			t.stopped[x.Pod.Owner.UID] = why
		}
	}
	t.m.ended = slices.DeleteFunc(t.m.ended, func(x *Move) bool { return !t.lingers(x) })
	t.parting = t.parting || len(t.m.ended) > 0
}

// lingers says that a move is over, and its pod still on its way out. Its node is going to be a better one, which a scheduler
// that heeds no Holds may then take for whoever waits for a node.
func (t *turn) lingers(x *Move) bool {
	if x.Stage != Over || x.Evicted.IsZero() || x.Cleanup() {
		return false
	}
	p := t.v.Pod(x.Pod.UID)
	return p != nil && p.Deleting
}

// begun counts a move that is under way.
func (t *turn) begun(x *Move) {
	if x.Cleanup() {
		return
	}
	t.busy[x.Pod.Owner.UID] = x
	if x.Stage < Placed {
		t.under++
		t.alone = t.alone || x.Mode == plan.Unheld
	} else if x.gone.IsZero() {
		t.parting = true
	}
}

// until has Step called again at a time.
func (t *turn) until(at time.Time) {
	if at.After(t.now) && (t.wake.IsZero() || at.Before(t.wake)) {
		t.wake = at
	}
}

// due says whether a time has come, and has Step called again when it does.
func (t *turn) due(at time.Time) bool {
	if at.After(t.now) {
		t.until(at)
		return false
	}
	return true
}

// act does something, and says what its answer is for.
func (t *turn) act(make func(id uint64) Action, answer func(now time.Time, a Answer)) {
	t.m.next++
	t.m.asked[t.m.next] = answer
	t.out = append(t.out, make(t.m.next))
}
