package scheduling

import "time"

// asked is what was put to extenders for an attempt.
type asked struct{}

// answered takes in what extenders made of it.
func (m *Machine) answered(now time.Time, a *attempt, o Outcome) {
	m.over(a.uid)
	m.fail(now, m.state.Pod(a.uid), a.number, o.Why)
}
