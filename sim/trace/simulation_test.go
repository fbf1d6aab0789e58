package trace

import (
	"bytes"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/script"
	"github.com/berthproject/berth/sim/store"
)

func node(name, cpu string) store.Object {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse("10")}
	store.ApplyDefaults(n)
	return n
}

func arrival(name, class string, arrives, departs time.Duration) Arrival {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"class": class}}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}}
	store.ApplyDefaults(p)
	return Arrival{Pod: p, Arrives: arrives, Departs: departs}
}

// TestSummaryOfOverload checks four pods that request one core each on a node with two. Those of
// high priority preempt the others, whose replacements stay pending until another pod is deleted.
func TestSummaryOfOverload(t *testing.T) {
	o, err := cluster.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	empty, err := script.Parse("none", "")
	if err != nil {
		t.Fatal(err)
	}
	s := &Simulation{Objects: []store.Object{node("n1", "2")}, Scenario: empty, Until: 4 * time.Minute, Options: o, CheckSettled: true, Arrivals: []Arrival{
		arrival("low1", "low", 0, 0), arrival("low2", "low", 0, 0),
		arrival("high1", "high", time.Minute, 2*time.Minute), arrival("high2", "high", time.Minute, 0)}}
	SetPriorities(s.Arrivals, "class", map[string]int32{"high": 10})
	MarkReplaced(s.Arrivals)
	sum, err := s.Run()
	if err != nil {
		t.Fatal(err)
	}
	if sum.Violation != "" {
		t.Fatal(sum.Violation)
	}
	if sum.Created != 6 || sum.Victims != 2 || sum.Preemptors != 2 || sum.Cascades != 0 || sum.Bound != 2 || sum.Pending != 1 {
		t.Errorf("got %+v, want 6 created, 2 victims, 2 preemptors, no cascades, 2 bound, 1 pending", sum)
	}
	want := []Priority{{Priority: 10, Bound: 1}, {Priority: 0, Bound: 1, Pending: 1}}
	if len(sum.Priorities) != 2 || sum.Priorities[0] != want[0] || sum.Priorities[1] != want[1] {
		t.Errorf("by priority: %+v, want %+v", sum.Priorities, want)
	}
	if u := sum.Utilization[samples/8]; u.Percent["cpu"] != 100 || u.Bound != 2 {
		t.Errorf("at %v s: %+v, want 100 %% of the cpu and 2 bound", u.Seconds, u)
	}
	var b bytes.Buffer
	if err := sum.Print(&b); err != nil || !strings.Contains(b.String(), "2 victims of 2 preemptors") || !strings.Contains(b.String(), "Insufficient cpu") {
		t.Errorf("Print returned %v and wrote\n%s\nwant 2 victims of 2 preemptors and the reason Insufficient cpu", err, b.String())
	}
}

// windowTrace is a trace of three days.
func windowTrace() []Arrival {
	return []Arrival{{Arrives: 0, Departs: 30 * time.Hour}, {Arrives: 25 * time.Hour, Departs: 26 * time.Hour}, {Arrives: 26 * time.Hour, Departs: 26 * time.Hour},
		{Arrives: 50 * time.Hour, Departs: 60 * time.Hour}, {Arrives: time.Hour, Departs: 2 * time.Hour}}
}

func TestBusiestDay(t *testing.T) {
	trace := windowTrace()
	if d := BusiestDay(trace, day); d != 0 {
		t.Errorf("the busiest day is %d, want 0: the first of two that are equal", d)
	}
	if d := BusiestDay(trace[1:], 2*day); d != 0 {
		t.Errorf("the busiest two days begin on %d, want 0", d)
	}
}

func TestWindow(t *testing.T) {
	trace := windowTrace()
	got := Window(trace, day, day, 1)
	want := []Arrival{{Arrives: 0, Departs: 6 * time.Hour}, {Arrives: time.Hour, Departs: 2 * time.Hour}, {Arrives: 2 * time.Hour, Departs: 2*time.Hour + time.Second}}
	if len(got) != len(want) {
		t.Fatalf("%d pods are in the window, want %d: %v", len(got), len(want), got)
	}
	for i := range want {
		if got[i].Arrives != want[i].Arrives || got[i].Departs != want[i].Departs {
			t.Errorf("pod %d exists from %v to %v, want from %v to %v", i, got[i].Arrives, got[i].Departs, want[i].Arrives, want[i].Departs)
		}
	}
	if fast := Window(trace, day, day, 10); fast[len(fast)-1].Arrives != 156*time.Minute || fast[len(fast)-1].Departs != 156*time.Minute+10*time.Hour {
		t.Errorf("at ten times the rate, the last pod exists from %v to %v, want from 2h36m0s to 12h36m0s", fast[len(fast)-1].Arrives, fast[len(fast)-1].Departs)
	}
}
