package nodepressure

import (
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// diskObservation returns an observation of a node: the available percentage of its disk, and the
// available memory in MiB.
func diskObservation(ms int, disk, mib int64, pods ...Pod) *Observation {
	o := memoryObservation(ms, mib, pods...)
	o.Signals[NodeFsAvailable] = Stat{Known: true, Available: disk, Capacity: 100, Time: at(ms)}
	return o
}

func diskAndMemory() *Machine {
	return New(Config{Options: AllOptions(), TransitionPeriod: time.Minute, Thresholds: []Threshold{
		{Signal: NodeFsAvailable, Value: Value{Percentage: 0.1}}, {Signal: MemoryAvailable, Value: Value{Quantity: Bytes(100 * mi)}}}})
}

func TestMemoryEvictionDuringReclaim(t *testing.T) {
	m := diskAndMemory()
	a, b := memoryPod("a", 50), memoryPod("b", 500)
	effects, _ := m.Step(at(0), diskObservation(0, 5, 1000, a, b))
	if !slices.Contains(effects, Effect(ReclaimNodeResources{Containers: true, Images: true})) || !m.Reclaiming() {
		t.Fatalf("got %v, want ReclaimNodeResources", effects)
	}
	if effects, _ = m.Step(at(1000), diskObservation(1000, 5, 1000, a, b)); len(effects) > 0 {
		t.Errorf("got %v while resources are reclaimed, want none", effects)
	}
	if effects, _ = m.Step(at(2000), diskObservation(2000, 5, 50, a, b)); !slices.Equal(evicted(effects), []string{"b"}) {
		t.Errorf("memory: %v, want the eviction of b", effects)
	}
	if effects = m.Reclaimed(at(9000), diskObservation(9000, 5, 1000, a)); !slices.Equal(evicted(effects), []string{"a"}) {
		t.Errorf("after insufficient reclaiming: %v, want the eviction of a", effects)
	}
}

func TestReclaimCancelsEviction(t *testing.T) {
	for name, o := range map[string]*Observation{
		"enough":      diskObservation(9000, 50, 1000, memoryPod("a", 50)),
		"pod deleted": diskObservation(9000, 5, 1000, memoryPod("b", 50)),
	} {
		m := diskAndMemory()
		m.Step(at(0), diskObservation(0, 5, 1000, memoryPod("a", 50)))
		if effects := m.Reclaimed(at(9000), o); len(effects) > 0 || m.Reclaiming() {
			t.Errorf("%s: %v, want no effects", name, effects)
		}
	}
	m := diskAndMemory()
	m.Step(at(0), diskObservation(0, 5, 1000, memoryPod("a", 50)))
	if effects := m.Reclaimed(at(9000), &Observation{ReadFailed: true}); len(evicted(effects)) != 1 {
		t.Errorf("failed read: %v, want one eviction", effects)
	}
}

// TestReclaimShortensLongGracePeriod checks that a pod with minutes of its grace period remaining is evicted if
// reclaiming was not enough.
func TestReclaimShortensLongGracePeriod(t *testing.T) {
	for remaining, want := range map[time.Duration]int{5 * time.Minute: 1, time.Second: 0} {
		m := diskAndMemory()
		p := memoryPod("a", 50)
		p.TerminatesBy = at(0).Add(5 * time.Minute)
		m.Step(at(0), diskObservation(0, 5, 1000, p))
		p.TerminatesBy = at(9000).Add(remaining)
		if effects := m.Reclaimed(at(9000), diskObservation(9000, 5, 1000, p)); len(evicted(effects)) != want {
			t.Errorf("with %s remaining: %v, want %d evictions", remaining, effects, want)
		}
	}
}

func TestNoVictim(t *testing.T) {
	m := hardMemory(AllOptions())
	p := memoryPod("critical", 500)
	p.Spec.Priority = model.SystemCriticalPriority
	effects, _ := m.Step(at(0), memoryObservation(0, 50, p))
	if want := []Effect{ConditionChanged{model.MemoryPressure}, ThresholdMet{MemoryAvailable, Memory}, NoVictim{MemoryAvailable}}; !slices.Equal(effects, want) {
		t.Errorf("got %v, want %v", effects, want)
	}
}

// TestRootFsCountsWithDedicatedImageFs checks the option for kubernetes#139205: with a dedicated imagefs, the kubelet
// ignores a container's writable layer.
func TestRootFsCountsWithDedicatedImageFs(t *testing.T) {
	limit := Bytes(100 * mi)
	p := memoryPod("a", 0)
	p.EvictionSpec.Containers[0].EphemeralLimit = &limit
	p.Stats.Containers[0].RootFs = FsStats{Known: true, Bytes: 150 * mi}
	for enabled, want := range map[bool]int{true: 1, false: 0} {
		m := New(Config{LocalStorage: true, Layout: Layout{DedicatedImageFs: true}, Options: Options{CountRootFs: enabled}})
		effects, _ := m.Step(at(0), &Observation{CheckLimits: true, Pods: func() []Pod { return []Pod{p} }})
		if got := evicted(effects); len(got) != want {
			t.Errorf("CountRootFs %v: evicted %v, want %d pods", enabled, got, want)
		}
	}
}

// TestDiskSettlesBeforeNextEviction checks disk statistics that lag behind the deletion of a victim's data.
func TestDiskSettlesBeforeNextEviction(t *testing.T) {
	c := Config{Options: AllOptions(), Thresholds: []Threshold{{Signal: NodeFsAvailable, Value: Value{Percentage: 0.1}}}, Layout: Layout{DedicatedImageFs: true}}
	m := New(c)
	a, b := memoryPod("a", 50), memoryPod("b", 50)
	var evictedPods []string
	for s := 0; s < 60; s++ {
		pods := []Pod{a, b}
		if s > 0 {
			pods[0].TerminatesBy = at(1000)
		}
		if s > 5 {
			pods = pods[1:]
		}
		disk := int64(5)
		if s > 12 {
			disk = 50
		}
		effects, _ := m.Step(at(s*1000), diskObservation(s*1000, disk, 1000, pods...))
		evictedPods = append(evictedPods, evicted(effects)...)
	}
	if !slices.Equal(evictedPods, []string{"a"}) {
		t.Errorf("%v were evicted, want a", evictedPods)
	}
}

func TestConditionsSurviveRestart(t *testing.T) {
	m := hardMemory(AllOptions())
	m.Restore(at(0), [model.NumPressures]bool{model.MemoryPressure: true})
	if ok, _, _ := m.Admit(&model.Pod{Spec: &model.PodSpec{BestEffort: true}}, nil); ok {
		t.Error("a BestEffort pod was admitted under the restored memory pressure, want it rejected")
	}
	for _, ms := range []int{1000, 59_000} {
		if effects, _ := m.Step(at(ms), memoryObservation(ms, 1000)); len(effects) > 0 || !m.Conditions()[model.MemoryPressure].True {
			t.Errorf("after %d ms: effects %v, conditions %v; want none and memory pressure", ms, effects, m.Conditions())
		}
	}
	if effects, _ := m.Step(at(60_000), memoryObservation(60_000, 1000)); !slices.Equal(effects, []Effect{ConditionChanged{model.MemoryPressure}}) {
		t.Errorf("after the transition period: %v, want ConditionChanged", effects)
	}
}
