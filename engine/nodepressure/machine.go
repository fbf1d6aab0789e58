package nodepressure

import (
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
)

// Machine is the eviction manager of one node. It is not safe for concurrent use.
type Machine struct {
	config         Config
	thresholds     []thresholdState // by index of config.Thresholds
	conditions     [model.NumPressures]Condition
	lastObserved   [model.NumPressures]time.Time // when a condition was last observed; zero: never
	lastTimes      [NumSignals]time.Time         // times of the previous Stats; zero: none
	cacheCheck     pageCacheCheck
	forecast       memoryForecast
	victims        [model.NumPressures]victim
	pendingReclaim *pendingReclaim // the eviction after an insufficient reclaim, or nil
}

type thresholdState struct {
	since        time.Time // when it was first met; zero: it is not met
	graceElapsed bool      // met for its grace period: MinReclaim applies
	met          bool      // in the last observation
}

// victim is the last pod evicted for a pressure.
type victim struct {
	uid       string
	until     time.Time // end of the wait for its deletion
	lastUsage int64     // of the scarce resource, as last read
	deletedAt time.Time // when it was first not listed; zero: it is listed
}

// Condition is a node condition.
type Condition struct {
	True  bool
	Since time.Time // last transition; zero: never
}

// New returns a machine without observations.
func New(c Config) *Machine {
	c.Thresholds = WithLayout(c.Thresholds, c.Layout)
	return &Machine{config: c, thresholds: make([]thresholdState, len(c.Thresholds))}
}

// Conditions returns the node's conditions, by pressure.
func (m *Machine) Conditions() [model.NumPressures]Condition { return m.conditions }

// Restore sets the active conditions of the node's status, as if observed at now, so that they survive a
// restart for the transition period.
func (m *Machine) Restore(now time.Time, active [model.NumPressures]bool) {
	for k := range active {
		if active[k] && m.config.TransitionPeriod > 0 {
			m.lastObserved[k], m.conditions[k] = now, Condition{True: true, Since: now}
		}
	}
}

// Reclaiming reports whether a ReclaimNodeResources is in flight.
func (m *Machine) Reclaiming() bool { return m.pendingReclaim != nil }

// Thresholds returns the thresholds for the layout of file systems.
func (m *Machine) Thresholds() []Threshold { return m.config.Thresholds }

// Step applies an observation and returns the effects. wake is the latest time of the next
// observation; zero: none is needed.
func (m *Machine) Step(now time.Time, o *Observation) (effects []Effect, wake time.Time) {
	if o.ReadFailed {
		return nil, time.Time{}
	}
	wake = m.checkPageCache(now, o)
	m.updateThresholds(now, o)
	effects, wake = m.updateConditions(now, effects, wake)
	due := m.dueThresholds(o)
	for s := range o.Signals {
		m.lastTimes[s] = o.Signals[s].Time
	}
	checkLimits := m.config.LocalStorage && o.CheckLimits
	if o.Pods == nil || !checkLimits && due == 0 {
		return effects, wake
	}
	pods := o.Pods()
	if checkLimits {
		if evictions := m.evictOverLimits(now, pods); len(evictions) > 0 {
			return append(effects, evictions...), wake
		}
	}
	return m.handleThresholds(now, o, due, pods, effects, wake)
}

func (m *Machine) updateThresholds(now time.Time, o *Observation) {
	for i := range m.config.Thresholds {
		t, s := &m.config.Thresholds[i], &m.thresholds[i]
		s.met = m.thresholdMet(t, o, false) || s.graceElapsed && m.thresholdMet(t, o, true)
		switch {
		case !s.met:
			s.since = time.Time{}
		case s.since.IsZero():
			s.since = now
		}
		s.graceElapsed = s.met && now.Sub(s.since) >= t.Grace
		if s.met {
			m.lastObserved[t.Signal.Pressure()] = now
		}
	}
}

// thresholdMet reports whether less is available than the threshold, with its minimum reclaim if
// reclaimed is set. A hard memory threshold is also met if the forecast predicts that memory runs out.
func (m *Machine) thresholdMet(t *Threshold, o *Observation, reclaimed bool) bool {
	stat := &o.Signals[t.Signal]
	if !stat.Known {
		return false
	}
	need := t.Value.Of(stat.Capacity).Amount
	if reclaimed && t.MinReclaim != nil {
		need += t.MinReclaim.Of(stat.Capacity).Amount
	}
	return m.available(t.Signal, o) < need || t.Hard() && t.Signal == MemoryAvailable && m.forecast.exhausted
}

func (m *Machine) updateConditions(now time.Time, effects []Effect, wake time.Time) ([]Effect, time.Time) {
	for k := range m.conditions {
		end := m.lastObserved[k].Add(m.config.TransitionPeriod)
		active := !m.lastObserved[k].IsZero() && now.Before(end)
		if active != m.conditions[k].True {
			m.conditions[k] = Condition{True: active, Since: now}
			effects = append(effects, ConditionChanged{model.Pressure(k)})
		}
		if active {
			wake = order.Earliest(wake, end)
		}
	}
	for i := range m.thresholds {
		if s := &m.thresholds[i]; s.met && !s.graceElapsed {
			wake = order.Earliest(wake, s.since.Add(m.config.Thresholds[i].Grace))
		}
	}
	return effects, wake
}

// dueThresholds returns the thresholds to handle, one bit each.
func (m *Machine) dueThresholds(o *Observation) (due thresholdSet) {
	for i := range m.thresholds {
		s := m.config.Thresholds[i].Signal
		if m.thresholds[i].graceElapsed && m.hasNewerStat(s, o) && (m.pendingReclaim == nil || m.reclaimable(s) == ReclaimNodeResources{}) {
			due |= 1 << i
		}
	}
	return due
}

// thresholdSet has a bit for each threshold; a signal has at most two.
type thresholdSet uint64

// handleThresholds handles the first due threshold, memory first. If a threshold waits for a
// terminating pod, the next threshold is handled only with CountTerminating.
func (m *Machine) handleThresholds(now time.Time, o *Observation, due thresholdSet, pods []Pod, effects []Effect, wake time.Time) ([]Effect, time.Time) {
	for _, memory := range [2]bool{true, false} {
		for i := range m.config.Thresholds {
			t := &m.config.Thresholds[i]
			if due&(1<<i) == 0 || t.Signal.memory() != memory {
				continue
			}
			until := m.waitForTerminating(now, o, t, pods)
			if until.IsZero() {
				return m.handleThreshold(now, o, t, pods, effects), wake
			}
			if wake = order.Earliest(wake, until); !m.config.Options.CountTerminating {
				return effects, wake
			}
		}
	}
	return effects, wake
}

// hasNewerStat reports whether a signal's Stat is newer than in the previous Step.
func (m *Machine) hasNewerStat(s Signal, o *Observation) bool {
	stat, last := &o.Signals[s], m.lastTimes[s]
	return stat.Known && (last.IsZero() || stat.Time.IsZero() || stat.Time.After(last))
}
