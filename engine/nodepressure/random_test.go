package nodepressure

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// thresholdHistory is the complete input of a machine without options; every query recomputes the
// result from it.
type thresholdHistory struct {
	config       Config
	times        []time.Time
	observations []*Observation
}

// belowThreshold reports whether less than the threshold is available.
func belowThreshold(t *Threshold, s *Stat, withMinReclaim bool) bool {
	need := t.Value.Of(s.Capacity).Amount
	if withMinReclaim && t.MinReclaim != nil {
		need += t.MinReclaim.Of(s.Capacity).Amount
	}
	return s.Known && s.Available < need
}

// isDue reports whether a threshold is met for its grace period at the given step.
func (h *thresholdHistory) isDue(t *Threshold, step int) bool {
	return h.met(t, step) && h.times[step].Sub(h.since(t, step)) >= t.Grace
}

func (h *thresholdHistory) met(t *Threshold, step int) bool {
	s := &h.observations[step].Signals[t.Signal]
	return belowThreshold(t, s, false) || step > 0 && belowThreshold(t, s, true) && h.isDue(t, step-1)
}

func (h *thresholdHistory) since(t *Threshold, step int) time.Time {
	for step > 0 && h.met(t, step-1) {
		step--
	}
	return h.times[step]
}

// condition reports whether a pressure was observed within the transition period.
func (h *thresholdHistory) condition(k model.Pressure) bool {
	now := len(h.times) - 1
	for step := range h.times {
		for i := range h.config.Thresholds {
			t := &h.config.Thresholds[i]
			if t.Signal.Pressure() == k && h.met(t, step) && h.times[now].Sub(h.times[step]) < h.config.TransitionPeriod {
				return true
			}
		}
	}
	return false
}

// due returns the signal to handle, if any.
func (h *thresholdHistory) due() (Signal, bool) {
	now := len(h.times) - 1
	for _, memoryFirst := range []bool{true, false} {
		for i := range h.config.Thresholds {
			t := &h.config.Thresholds[i]
			newer := now == 0 || h.observations[now].Signals[t.Signal].Time.After(h.observations[now-1].Signals[t.Signal].Time)
			if t.Signal.memory() == memoryFirst && newer && h.isDue(t, now) {
				return t.Signal, true
			}
		}
	}
	return 0, false
}

func (r *randomSource) config() Config {
	c := Config{TransitionPeriod: time.Duration(r.n(3)) * 20 * time.Second, MaxPodGrace: int64(r.n(40)), LocalStorage: r.n(2) == 0}
	for range 1 + r.n(3) {
		t := Threshold{Signal: []Signal{MemoryAvailable, AllocatableMemoryAvailable, PIDAvailable}[r.n(3)], Value: Value{Quantity: Bytes(int64(3 + r.n(3)))}}
		if r.n(2) == 0 {
			t.Grace = time.Duration(r.n(3)) * 10 * time.Second
		}
		if r.n(2) == 0 {
			t.MinReclaim = &Value{Quantity: Bytes(int64(r.n(4)))}
		}
		c.Thresholds = append(c.Thresholds, t)
	}
	return c
}

func (r *randomSource) observation(now time.Time, pods []Pod) *Observation {
	o := &Observation{CheckLimits: r.n(2) == 0, Pods: func() []Pod { return pods }}
	for s := range o.Signals {
		if r.n(8) > 0 {
			o.Signals[s] = Stat{Known: true, Available: int64(r.n(10)), Capacity: 100, Time: now.Add(-time.Duration(r.n(3)) * 5 * time.Second)}
		}
	}
	if r.n(2) == 0 {
		o.PageCache = PageCache{Known: true, Active: int64(r.n(5)), Refaults: int64(r.n(100)) - 1, StallTime: time.Duration(r.n(1000)) * time.Millisecond}
	}
	return o
}

// TestMachineMatchesHistory compares a machine without options with thresholdHistory.
func TestMachineMatchesHistory(t *testing.T) {
	for seed := range 400 {
		r := randomSource(seed)
		c := r.config()
		c.LocalStorage = false
		m, h := New(c), &thresholdHistory{config: c}
		now := start
		var pods []Pod
		for i := range 3 {
			pods = append(pods, r.pod(i))
		}
		for step := range 12 {
			now = now.Add(time.Duration(1+r.n(3)) * 5 * time.Second)
			o := r.observation(now, pods)
			h.times, h.observations = append(h.times, now), append(h.observations, o)
			effects, _ := m.Step(now, o)
			for k, got := range m.Conditions() {
				if want := h.condition(model.Pressure(k)); got.True != want {
					t.Fatalf("seed %d, step %d: %s is %v, want %v", seed, step, ConditionType(model.Pressure(k)), got.True, want)
				}
			}
			signal, due := h.due()
			reported := false
			for _, e := range effects {
				if a, ok := e.(ThresholdMet); ok {
					reported = true
					if a.Signal != signal {
						t.Fatalf("seed %d, step %d: handled %s, want %s", seed, step, a.Signal, signal)
					}
				}
			}
			if reported != due {
				t.Fatalf("seed %d, step %d: handled a threshold: %v, want %v", seed, step, reported, due)
			}
		}
	}
}

// checkInvariants checks that a Step evicts no critical pod and either at most one pod for a threshold
// or any number for limits.
func checkInvariants(effects []Effect) error {
	byThreshold, byLimit := 0, 0
	for _, e := range effects {
		e, ok := e.(Evict)
		if !ok {
			continue
		}
		if e.Condition {
			byThreshold++
		} else {
			byLimit++
		}
		if Critical(e.Pod, nil) {
			return fmt.Errorf("evicted critical pod %s, want only other pods", e.Pod.Name)
		}
		if e.Grace < 0 || e.Message == "" || e.Cause == "" {
			return fmt.Errorf("eviction %+v, want Grace >= 0, a Message and a Cause", e)
		}
	}
	if byThreshold > 1 || byThreshold > 0 && byLimit > 0 {
		return fmt.Errorf("%d evictions by a threshold and %d by limits, want at most one by a threshold or any number by limits", byThreshold, byLimit)
	}
	return nil
}

// FuzzMachine steps two equal machines through the same observations and checks that they agree and
// keep the invariants.
func FuzzMachine(f *testing.F) {
	for seed := range 200 {
		f.Add(uint64(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := randomSource(seed)
		c := r.config()
		c.Options = Options{ConfirmPageCache: r.n(2) == 0, Forecast: r.n(2) == 0, CountTerminating: r.n(2) == 0, RankInodes: r.n(2) == 0, CountRootFs: r.n(2) == 0, NegativeGraceMeansPodGrace: r.n(2) == 0}
		c.Thresholds = append(c.Thresholds, Threshold{Signal: Signal(r.n(int(NumSignals))), Value: Value{Percentage: 0.05}})
		c.MaxPodGrace -= 10
		a, b := New(c), New(c)
		now := start
		for range 20 {
			now = now.Add(time.Duration(1+r.n(2000)) * 10 * time.Millisecond)
			var pods []Pod
			for i := range r.n(5) {
				p := r.pod(i)
				if r.n(4) == 0 {
					p.TerminatesBy = now.Add(time.Duration(r.n(60)-40) * time.Second)
				}
				pods = append(pods, p)
			}
			o := r.observation(now, pods)
			o.ReadFailed = r.n(10) == 0
			step := func(m *Machine) []Effect {
				if m.Reclaiming() && o.CheckLimits {
					return m.Reclaimed(now, o)
				}
				effects, _ := m.Step(now, o)
				return effects
			}
			got, repeated := step(a), step(b)
			if !reflect.DeepEqual(got, repeated) || a.Conditions() != b.Conditions() {
				t.Fatalf("effects %v and %v of equal observations, want equal effects and conditions", got, repeated)
			}
			if err := checkInvariants(got); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestStepDoesNotAllocate checks a Step in which no threshold is met.
func TestStepDoesNotAllocate(t *testing.T) {
	c := Config{TransitionPeriod: time.Minute, LocalStorage: true, Options: AllOptions()}
	for s := range NumSignals {
		c.Thresholds = append(c.Thresholds, Threshold{Signal: s, Value: Value{Percentage: 0.1}, MinReclaim: &Value{Quantity: Bytes(5)}})
	}
	m := New(c)
	o := &Observation{Pods: func() []Pod { panic("no eviction is due") }, PageCache: PageCache{Known: true, Active: 10}}
	now := start
	if n := testing.AllocsPerRun(100, func() {
		now = now.Add(time.Second)
		for s := range o.Signals {
			o.Signals[s] = Stat{Known: true, Available: 500, Capacity: 1000, Time: now}
		}
		if effects, _ := m.Step(now, o); effects != nil {
			t.Errorf("effects %v, want none", effects)
		}
	}); n > 0 {
		t.Errorf("%v allocations per Step, want none", n)
	}
}
