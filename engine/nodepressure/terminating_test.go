package nodepressure

import (
	"slices"
	"testing"
	"time"
)

// freeingNode is a node whose terminating pods free memory gradually, and whose statistics are read one
// after the other.
type freeingNode struct {
	used        map[string]int64 // MiB
	terminating map[string]time.Time
	race        bool // the node's statistics are older than the pods'
}

func (f *freeingNode) sum() (n int64) {
	for _, u := range f.used {
		n += u
	}
	return n
}

func (f *freeingNode) freeMemory() {
	for name := range f.terminating {
		if f.used[name] -= 300; f.used[name] <= 0 {
			delete(f.used, name)
			delete(f.terminating, name)
		}
	}
}

func (f *freeingNode) observe(ms int) *Observation {
	o := memoryObservation(ms, 2048-f.sum())
	if f.race {
		f.freeMemory()
	}
	var names []string
	for name := range f.used {
		names = append(names, name)
	}
	slices.Sort(names)
	o.Pods = func() (pods []Pod) {
		for _, name := range names {
			p := memoryPod(name, f.used[name])
			p.TerminatesBy = f.terminating[name]
			pods = append(pods, p)
		}
		return pods
	}
	if !f.race {
		f.freeMemory()
	}
	return o
}

func TestOneEvictionWhileMemoryIsFreed(t *testing.T) {
	for _, race := range []bool{false, true} {
		m := hardMemory(AllOptions())
		f := &freeingNode{used: map[string]int64{"hog": 1500, "big": 300, "small": 160}, terminating: map[string]time.Time{}, race: race}
		var pods []string
		for ms := 0; ms < 1000; ms += 10 {
			effects, _ := m.Step(at(ms), f.observe(ms))
			for _, name := range evicted(effects) {
				pods = append(pods, name)
				f.terminating[name] = at(ms)
			}
		}
		if !slices.Equal(pods, []string{"hog"}) {
			t.Errorf("race %v: %v were evicted, want hog", race, pods)
		}
	}
}

func TestSecondEvictionWhenNotEnoughIsFreed(t *testing.T) {
	for enabled, want := range map[bool][]string{true: {"a", "b"}, false: {"a"}} {
		m := hardMemory(Options{CountTerminating: enabled})
		a, b := memoryPod("a", 100), memoryPod("b", 90)
		effects, _ := m.Step(at(0), memoryObservation(0, -60, a, b))
		pods := evicted(effects)
		a.TerminatesBy = at(0)
		effects, _ = m.Step(at(10), memoryObservation(10, -60, a, b))
		if pods = append(pods, evicted(effects)...); !slices.Equal(pods, want) {
			t.Errorf("CountTerminating %v: %v were evicted within 10 ms, want %v", enabled, pods, want)
		}
	}
}

func TestWaitForVictimTimesOut(t *testing.T) {
	for _, o := range []Options{{}, AllOptions()} {
		m := hardMemory(o)
		a, b := memoryPod("a", 500), memoryPod("b", 90)
		m.Step(at(0), memoryObservation(0, 50, a, b))
		a.TerminatesBy = at(0)
		effects, wake := m.Step(at(20_000), memoryObservation(20_000, 50, a, b))
		if len(evicted(effects)) > 0 || wake.IsZero() {
			t.Errorf("%+v: after 20 s: %v, wake time %v; want no eviction and a wake time", o, effects, wake)
		}
		if effects, _ = m.Step(at(40_000), memoryObservation(40_000, 50, a, b)); !slices.Equal(evicted(effects), []string{"b"}) {
			t.Errorf("%+v: after 40 s: %v, want the eviction of b", o, effects)
		}
	}
}

func TestHardThresholdShortensSoftGracePeriod(t *testing.T) {
	c := Config{Thresholds: []Threshold{{Signal: MemoryAvailable, Value: Value{Quantity: Bytes(100 * mi)}}, {Signal: MemoryAvailable, Value: Value{Quantity: Bytes(300 * mi)}, Grace: time.Second}},
		MaxPodGrace: 60, Options: AllOptions()}
	m := New(c)
	m.Step(at(0), memoryObservation(0, 250, memoryPod("a", 500)))
	effects, _ := m.Step(at(1000), memoryObservation(1000, 250, memoryPod("a", 500)))
	if e, ok := effects[len(effects)-1].(Evict); !ok || e.Grace != 60 {
		t.Fatalf("soft threshold: %+v, want an eviction with grace period 60", effects)
	}
	a := memoryPod("a", 500)
	a.TerminatesBy = at(61_000)
	if effects, _ = m.Step(at(2000), memoryObservation(2000, 250, a)); len(evicted(effects)) > 0 {
		t.Errorf("soft threshold while the pod terminates: %+v, want no eviction", effects)
	}
	effects, _ = m.Step(at(3000), memoryObservation(3000, 50, a))
	if e, ok := effects[len(effects)-1].(Evict); !ok || e.Grace != hardGrace || e.Pod.Name != "a" {
		t.Errorf("hard threshold: %+v, want the eviction of a with grace period %d", effects, hardGrace)
	}
}

func TestNegativeGrace(t *testing.T) {
	grace := int64(45)
	for enabled, want := range map[bool]int64{true: 45, false: 0} {
		m := New(Config{MaxPodGrace: -1, Options: Options{NegativeGraceMeansPodGrace: enabled}})
		if got := m.gracePeriod(&Threshold{Grace: time.Second}, &Pod{EvictionSpec: &EvictionSpec{Grace: &grace}}); got != want {
			t.Errorf("NegativeGraceMeansPodGrace %v: %d s, want %d", enabled, got, want)
		}
	}
}

// TestExhaustionDoesNotWaitForGracePeriod checks that the grace period of a terminating pod does not delay an eviction
// while memory is exhausted.
func TestExhaustionDoesNotWaitForGracePeriod(t *testing.T) {
	m := hardMemory(AllOptions())
	terminating := memoryPod("terminating", 800)
	terminating.TerminatesBy = at(2000)
	for ms := 0; ; ms += 10 {
		remaining := int64(300 - ms/2) // 500 MiB/s
		if remaining <= 0 {
			t.Fatalf("no pod was evicted within %d ms, until the memory was exhausted, want hog", ms)
		}
		effects, _ := m.Step(at(ms), memoryObservation(ms, remaining, terminating, memoryPod("hog", 900+int64(ms/2))))
		if out := evicted(effects); len(out) > 0 {
			if out[0] != "hog" || remaining < 80 {
				t.Errorf("evicted %v with %d MiB available, want hog with at least 80", out, remaining)
			}
			return
		}
	}
}
