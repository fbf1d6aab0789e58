package pressure

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Machine is the state of one node. It is not safe for concurrent use.
type Machine struct {
	config     Config
	conditions [model.NumPressures]Condition
}

// Condition is one of the node's conditions.
type Condition struct {
	True  bool
	Since time.Time // when it became so; zero: it never changed
}

// New is a machine that has seen nothing.
func New(c Config) *Machine {
	c.Thresholds = WithLayout(c.Thresholds, c.Layout)
	return &Machine{config: c}
}

// Step takes in what is seen at now and answers with what to do. wake is when to look
// again if the shell would not before; zero: no need.
func (m *Machine) Step(now time.Time, o *Observation) (effects []Effect, wake time.Time) {
	return nil, time.Time{}
}

// Conditions are the node's conditions, by pressure.
func (m *Machine) Conditions() [model.NumPressures]Condition { return m.conditions }

// Collecting says that the machine waits for a Collect to be done.
func (m *Machine) Collecting() bool { return false }
