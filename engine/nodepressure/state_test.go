package nodepressure

import (
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// TestStateAgreesWithTheEviction checks that the first evictable candidate is the pod that the machine evicts, and that
// the threshold's state is met.
func TestStateAgreesWithTheEviction(t *testing.T) {
	pod := func(name string, priority int32, used int64) Pod {
		return Pod{Pod: &model.Pod{Name: name, UID: name, Spec: &model.PodSpec{Priority: priority}}, Stats: &PodStats{MemoryKnown: true, Memory: used}}
	}
	pods := []Pod{pod("system", model.SystemCriticalPriority, 900*mi), pod("important", 10, 500*mi), pod("batch", 0, 100*mi), {Pod: &model.Pod{Name: "new", UID: "new", Spec: &model.PodSpec{Priority: model.SystemCriticalPriority}}}}
	m := New(Config{Thresholds: []Threshold{{Signal: MemoryAvailable, Value: Value{Quantity: Bytes(100 * mi)}}}})
	o := Observation{Pods: func() []Pod { return pods }}
	o.Signals[MemoryAvailable] = Stat{Known: true, Available: 50 * mi, Capacity: 4096 * mi}
	now := time.Unix(1000, 0)
	effects, _ := m.Step(now, &o)
	victims := evicted(effects)
	var order []string
	next := ""
	for _, c := range m.Candidates(now, &m.config.Thresholds[0], pods) {
		order = append(order, c.Pod.Name)
		if next == "" && c.Evictable {
			next = c.Pod.Name
		}
	}
	if !slices.Equal(victims, []string{"batch"}) || next != "batch" || order[0] != "new" {
		t.Errorf("evicted %v, candidates %v with first victim %q; want batch, and new first because its usage is unknown", victims, order, next)
	}
	states := m.ThresholdStates(&o)
	if len(states) != 1 || !states[0].MetSince.Equal(now) || states[0].Need != 100*mi || states[0].Stat.Available != 50*mi {
		t.Errorf("got states %+v, want a threshold of 100Mi that is met since %v", states, now)
	}
}

// TestTerminatingPodIsEvictableByAHardThreshold checks that a hard threshold may evict a terminating pod, whose grace
// period it shortens, and that a soft one may not.
func TestTerminatingPodIsEvictableByAHardThreshold(t *testing.T) {
	now := time.Unix(1000, 0)
	pods := []Pod{{Pod: &model.Pod{Name: "ending", UID: "ending", Spec: &model.PodSpec{}}, TerminatesBy: now.Add(time.Minute)}}
	m := New(Config{})
	for _, grace := range []time.Duration{0, time.Minute} {
		threshold := Threshold{Signal: MemoryAvailable, Grace: grace}
		if got, want := m.Candidates(now, &threshold, pods)[0].Evictable, grace == 0; got != want {
			t.Errorf("threshold with grace %v: evictable %t, want %t", grace, got, want)
		}
	}
}
