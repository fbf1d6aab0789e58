package carry

import (
	"time"

	"github.com/berthproject/berth/engine/rebalance/plan"
)

// Take takes a plan in place of what has not begun yet of the last one.
func (m *Machine) Take(now time.Time, p *plan.Plan) {
	kept := m.moves[:0:0]
	for _, x := range m.moves {
		if x.Stage > Waiting && x.Stage < Over {
			kept = append(kept, x)
		}
	}
	for _, x := range p.Moves {
		kept = append(kept, &Move{Move: x, Since: now})
	}
	m.moves = kept
}

// Step says what to do now, and when to call again at the latest (zero: only a change brings something to do).
// Step must be called again after changes of the view, and after Answer.
func (m *Machine) Step(now time.Time, v *View) (out []Action, wake time.Time) {
	return nil, time.Time{}
}
