package pressure

import (
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
)

func TestReportNamesTheNextVictim(t *testing.T) {
	const mi = 1 << 20
	pod := func(name string, priority int32, request, used int64) nodepressure.Pod {
		spec := &model.PodSpec{Priority: priority}
		spec.Requests.Memory = request
		return nodepressure.Pod{Pod: &model.Pod{Namespace: "shop", Name: name, UID: name, Spec: spec}, Stats: &nodepressure.PodStats{MemoryKnown: true, Memory: used}}
	}
	pods := []nodepressure.Pod{pod("within", 0, 500*mi, 400*mi), pod("ending", 0, 0, 900*mi), pod("hog", 0, 100*mi, 700*mi), pod("system", model.SystemCriticalPriority, 0, 900*mi)}
	now := time.Unix(1000, 0)
	pods[1].TerminatesBy = now.Add(time.Minute)
	m := nodepressure.New(nodepressure.Config{Thresholds: []nodepressure.Threshold{
		{Signal: nodepressure.MemoryAvailable, Value: nodepressure.Value{Quantity: nodepressure.Bytes(100 * mi)}, Grace: time.Minute},
		{Signal: nodepressure.NodeFsAvailable, Value: nodepressure.Value{Percentage: 0.1}}}})
	o := nodepressure.Observation{Pods: func() []nodepressure.Pod { return pods }}
	o.Signals[nodepressure.MemoryAvailable] = nodepressure.Stat{Known: true, Available: 60 * mi, Capacity: 4096 * mi}
	m.Step(now, &o)
	r := NewReport("n1", now, m, &o, pods)
	if len(r.Thresholds) != 3 || r.Thresholds[0].Threshold != 100*mi || r.Thresholds[0].GraceSeconds != 60 || !r.Thresholds[0].MetSince.Equal(now) || r.Thresholds[1].Known {
		t.Errorf("got thresholds %+v, want memory below 100Mi since %v, and unknown nodefs and containerfs", r.Thresholds, now)
	}
	if len(r.Resources) != 1 || r.Resources[0].NextVictim() == nil || r.Resources[0].NextVictim().Pod != "shop/hog" {
		t.Fatalf("got %+v, want shop/hog as the next victim for memory only", r.Resources)
	}
	if got := r.Resources[0].Pods[len(r.Resources[0].Pods)-1]; got.Pod != "shop/within" {
		t.Errorf("last pod %+v, want shop/within", got)
	}
	var text strings.Builder
	if err := r.Text(&text, false); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[0] == "nodefs.available" && fields[3] != "-" {
			t.Errorf("threshold %q of an unmeasured percentage, want -", fields[3])
		}
	}
	for _, want := range []string{"memory.available", "met for", "not measured", "shop/hog", "uses more than it requests, priority 0", "next: ", "critical, never evicted"} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
}

// TestReportNamesATerminatingVictimOfAHardThreshold checks that a terminating pod can be the next victim of a hard
// threshold, even if a soft threshold precedes it. The eviction shortens the pod's grace period.
func TestReportNamesATerminatingVictimOfAHardThreshold(t *testing.T) {
	now := time.Unix(1000, 0)
	pods := []nodepressure.Pod{{Pod: &model.Pod{Namespace: "shop", Name: "ending", UID: "u1", Spec: &model.PodSpec{}}, TerminatesBy: now.Add(time.Minute)}}
	value := nodepressure.Value{Quantity: nodepressure.Bytes(100)}
	m := nodepressure.New(nodepressure.Config{Thresholds: []nodepressure.Threshold{
		{Signal: nodepressure.MemoryAvailable, Value: value, Grace: time.Minute}, {Signal: nodepressure.MemoryAvailable, Value: value}}})
	o := nodepressure.Observation{Pods: func() []nodepressure.Pod { return pods }}
	o.Signals[nodepressure.MemoryAvailable] = nodepressure.Stat{Known: true, Available: 60, Capacity: 4096}
	m.Step(now, &o)
	if v := NewReport("n1", now, m, &o, pods).Resources[0].NextVictim(); v == nil || v.Pod != "shop/ending" || !v.Terminating {
		t.Errorf("got next victim %+v, want shop/ending", v)
	}
}
