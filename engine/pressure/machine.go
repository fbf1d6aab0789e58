package pressure

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Machine is the state of one node. It is not safe for concurrent use.
type Machine struct {
	config     Config
	states     []state // of the thresholds
	conditions [model.NumPressures]Condition
	seen       [model.NumPressures]time.Time // when a condition was last observed; zero: never
	last       [NumSignals]time.Time         // of the figures before; zero: none, or without a time
	cache      suspicion
	growth     growth
	victims    [model.NumPressures]victim
	pending    *pending // what goes on unless collecting is enough; nil: nothing is collected
}

// state is what is remembered of a threshold.
type state struct {
	since time.Time // when it was first passed; zero: it is kept
	held  bool      // it was passed for its grace period: MinReclaim counts
	met   bool      // passed, or held, as seen last
}

// victim is the pod that the machine has evicted last for a pressure.
type victim struct {
	uid   string
	until time.Time // when it is not waited for any more
	holds int64     // of what was short, as read last
	gone  time.Time // since when it is not listed any more; zero: it is
}

// Condition is one of the node's conditions.
type Condition struct {
	True  bool
	Since time.Time // when it became so; zero: it never changed
}

// New is a machine that has seen nothing.
func New(c Config) *Machine {
	c.Thresholds = WithLayout(c.Thresholds, c.Layout)
	return &Machine{config: c, states: make([]state, len(c.Thresholds))}
}

// Conditions are the node's conditions, by pressure.
func (m *Machine) Conditions() [model.NumPressures]Condition { return m.conditions }

// Collecting says that the machine waits for a Collect to be done.
func (m *Machine) Collecting() bool { return m.pending != nil }

// Thresholds are the thresholds that count, as the layout of filesystems has it.
func (m *Machine) Thresholds() []Threshold { return m.config.Thresholds }

// Step takes in what is seen at now and answers with what to do. wake is when to look
// again if the shell would not before; zero: no need.
func (m *Machine) Step(now time.Time, o *Observation) (effects []Effect, wake time.Time) {
	if o.Unread {
		return nil, time.Time{}
	}
	wake = m.doubt(now, o)
	m.judge(now, o)
	effects, wake = m.report(now, effects, wake)
	acted := m.pick(now, o)
	for s := range o.Signals {
		m.last[s] = o.Signals[s].Time
	}
	if m.config.LocalStorage && o.CheckLimits && o.Pods != nil {
		if over := m.overLimits(now, o.Pods()); len(over) > 0 {
			return append(effects, over...), wake
		}
	}
	if acted < 0 {
		return effects, wake
	}
	return m.reclaim(now, o, &m.config.Thresholds[acted], effects, wake)
}

// judge finds out which thresholds are passed.
func (m *Machine) judge(now time.Time, o *Observation) {
	for i := range m.config.Thresholds {
		t, s := &m.config.Thresholds[i], &m.states[i]
		s.met = m.below(t, o, false) || s.held && m.below(t, o, true)
		switch {
		case !s.met:
			s.since = time.Time{}
		case s.since.IsZero():
			s.since = now
		}
		s.held = s.met && now.Sub(s.since) >= t.Grace
		if s.met {
			m.seen[t.Signal.Pressure()] = now
		}
	}
}

// below says that less is available than the threshold asks for, or than it and
// its minimum reclaim ask for.
func (m *Machine) below(t *Threshold, o *Observation, reclaimed bool) bool {
	stat := &o.Signals[t.Signal]
	if !stat.Known {
		return false
	}
	need := t.Value.Of(stat.Capacity).Amount
	if reclaimed && t.MinReclaim != nil {
		need += t.MinReclaim.Of(stat.Capacity).Amount
	}
	return m.available(t.Signal, o) < need || t.Hard() && t.Signal == MemoryAvailable && m.growth.exhausts
}

// report brings the conditions up to date.
func (m *Machine) report(now time.Time, effects []Effect, wake time.Time) ([]Effect, time.Time) {
	for k := range m.conditions {
		ends := m.seen[k].Add(m.config.Transition)
		is := !m.seen[k].IsZero() && now.Before(ends)
		if is != m.conditions[k].True {
			m.conditions[k] = Condition{True: is, Since: now}
			effects = append(effects, Changed{model.Pressure(k)})
		}
		if is {
			wake = sooner(wake, ends)
		}
	}
	for i := range m.states {
		if s := &m.states[i]; s.met && !s.held {
			wake = sooner(wake, s.since.Add(m.config.Thresholds[i].Grace))
		}
	}
	return effects, wake
}

// sooner is the earlier of two times of which a zero one does not count.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// pick is the threshold to act upon: memory before the rest, below 0 when there is none.
func (m *Machine) pick(now time.Time, o *Observation) int {
	best := -1
	for i := range m.states {
		t := &m.config.Thresholds[i]
		if !m.states[i].held || !m.fresh(t.Signal, o) || m.pending != nil && m.collects(t.Signal) != (Collect{}) {
			continue
		}
		if best < 0 || t.Signal.memory() && !m.config.Thresholds[best].Signal.memory() {
			best = i
		}
	}
	return best
}

// fresh says that a signal's figure is newer than that of the Step before.
func (m *Machine) fresh(s Signal, o *Observation) bool {
	stat, last := &o.Signals[s], m.last[s]
	return stat.Known && (last.IsZero() || stat.Time.IsZero() || stat.Time.After(last))
}
