package tainteviction

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

var startTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(s int) time.Time { return startTime.Add(time.Duration(s) * time.Second) }

// taint parses "key" or "key@second".
func taint(key string) model.TimedTaint {
	key, when, ok := strings.Cut(key, "@")
	t := model.TimedTaint{Taint: model.Taint{Key: key, Effect: model.NoExecute}}
	if ok {
		var s int
		_, _ = fmt.Sscan(when, &s)
		t.Added = at(s)
	}
	return t
}

// tol returns a toleration of a key for some seconds; negative: forever.
func tol(key string, seconds int64) model.Toleration {
	t := model.Toleration{Key: key, Op: model.TolExists}
	if seconds >= 0 {
		t.Seconds = &seconds
	}
	return t
}

// nodeWithTaints returns a node with taints; see taint.
func nodeWithTaints(name string, keys ...string) Node {
	n := Node{Name: name}
	for _, k := range keys {
		n.Taints = append(n.Taints, taint(k))
	}
	return n
}

func podOn(node, name string, tols ...model.Toleration) Pod {
	return Pod{Namespace: "ns", Name: name, UID: "u-" + name, Node: node, Bound: startTime, Tolerations: tols}
}

func formatEffects(effects []Effect) string {
	var out []string
	for _, e := range effects {
		switch e := e.(type) {
		case Evict:
			out = append(out, fmt.Sprintf("evict %s by %s due %d", e.Pod.Name, e.Taint.Key, int(e.Due.Sub(startTime).Seconds())))
		case Cancel:
			out = append(out, "cancel "+e.Pod.Name)
		}
	}
	return strings.Join(out, ", ")
}

// step is a time with events and the expected effects.
type step struct {
	second int
	events []Event
	want   string
	wake   int // 0: none
}

func runSteps(t *testing.T, m *Machine, steps []step) {
	t.Helper()
	for _, s := range steps {
		effects, wake := m.Step(at(s.second), s.events)
		if got := formatEffects(effects); got != s.want {
			t.Errorf("at %d s: %q, want %q", s.second, got, s.want)
		}
		if got := int(wake.Sub(startTime).Seconds()); (s.wake == 0) != wake.IsZero() || s.wake != 0 && got != s.wake {
			t.Errorf("at %d s: wake time %d, want %d", s.second, got, s.wake)
		}
	}
}

func events(e ...Event) []Event { return e }

func TestDueTimes(t *testing.T) {
	edited := func(s int64) Pod { return podOn("n", "p", tol("a", s)) }
	for name, steps := range map[string][]step{
		"not tolerated: evicted immediately": {
			{10, events(podOn("n", "p"), nodeWithTaints("n", "a@10")), "evict p by a due 10", 0}},
		"tolerated without a limit": {
			{10, events(podOn("n", "p", tol("a", -1)), nodeWithTaints("n", "a@10")), "", 0}},
		"tolerationSeconds": {
			{10, events(podOn("n", "p", tol("a", 300)), nodeWithTaints("n", "a@10")), "", 310}, {310, nil, "evict p by a due 310", 0}, {400, nil, "", 0}},
		"tolerationSeconds 0: evicted immediately": {
			{10, events(podOn("n", "p", tol("a", 0)), nodeWithTaints("n", "a@10")), "evict p by a due 10", 0}},
		"the shortest of two": {
			{10, events(podOn("n", "p", tol("a", 300), tol("b", 20)), nodeWithTaints("n", "a@10", "b@10")), "", 30}},
		"the first matching toleration counts": {
			{10, events(podOn("n", "p", tol("a", 300), tol("a", 20)), nodeWithTaints("n", "a@10")), "", 310}},
		"one of two taints is removed (kubernetes#90794)": {
			{10, events(podOn("n", "p", tol("a", 300), tol("b", 20)), nodeWithTaints("n", "a@10", "b@10")), "", 30},
			{20, events(nodeWithTaints("n", "a@10")), "", 310}},
		"the toleration is made longer (kubernetes#102993)": {
			{10, events(edited(60), nodeWithTaints("n", "a@10")), "", 70}, {30, events(edited(600)), "", 610}},
		"tolerationSeconds reduced below the elapsed time": {
			{10, events(edited(600), nodeWithTaints("n", "a@10")), "", 610}, {100, events(edited(60)), "evict p by a due 70", 0}},
		"taint removed": {
			{10, events(edited(60), nodeWithTaints("n", "a@10")), "", 70}, {30, events(nodeWithTaints("n")), "cancel p", 0}},
		"pod created after the taint": {
			{10, events(nodeWithTaints("n", "a@10")), "", 0},
			{100, events(Pod{Namespace: "ns", Name: "p", UID: "u", Node: "n", Bound: at(100), Tolerations: edited(60).Tolerations}), "", 160}},
		"taint without timeAdded": {
			{10, events(nodeWithTaints("n", "a"), edited(60)), "", 70}, {20, events(nodeWithTaints("n", "a", "other@20"), edited(60)), "evict p by other due 20", 0}},
		"node deleted": {
			{10, events(edited(60), nodeWithTaints("n", "a@10")), "", 70}, {20, events(NodeDeleted{"n"}), "", 0}},
		"pod deleted": {
			{10, events(edited(60), nodeWithTaints("n", "a@10")), "", 70}, {20, events(PodDeleted{"ns", "p"}), "", 0}},
		"a pod with the same name has a separate deadline": {
			{10, events(edited(60), nodeWithTaints("n", "a@10")), "", 70},
			{20, events(Pod{Namespace: "ns", Name: "p", UID: "other", Node: "n", Bound: at(20), Tolerations: edited(60).Tolerations}), "", 80}},
	} {
		t.Run(name, func(t *testing.T) { runSteps(t, New(Options{}, startTime), steps) })
	}
}

func TestFrozenDeadlines(t *testing.T) {
	edited := func(s int64) Pod { return podOn("n", "p", tol("a", s), tol("b", 20)) }
	for name, steps := range map[string][]step{
		"changes after the deadline was computed are ignored": {
			{10, events(edited(60), nodeWithTaints("n", "a@0")), "", 70}, {30, events(edited(600)), "", 70}, {40, events(edited(1)), "", 70}},
		"one of two taints removed": {
			{10, events(edited(300), nodeWithTaints("n", "a@10", "b@10")), "", 30}, {20, events(nodeWithTaints("n", "a@10")), "", 30}},
		"removing all taints cancels the eviction": {
			{10, events(edited(60), nodeWithTaints("n", "a@10")), "", 70}, {20, events(nodeWithTaints("n")), "cancel p", 0}},
		"an untolerated taint evicts immediately": {
			{10, events(edited(60), nodeWithTaints("n", "a@10")), "", 70}, {20, events(nodeWithTaints("n", "a@10", "c@20")), "evict p by c due 20", 0}},
	} {
		t.Run(name, func(t *testing.T) { runSteps(t, New(Options{FrozenDeadline: true}, startTime), steps) })
	}
}

func TestFailedEvictionIsRetried(t *testing.T) {
	m := New(Options{}, startTime)
	runSteps(t, m, []step{{10, events(podOn("n", "p"), nodeWithTaints("n", "a@10")), "evict p by a due 10", 0}})
	failed := events(EvictFailed{"ns", "p", "u-p"})
	now := at(10)
	for _, ms := range []int{100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000} {
		want := time.Duration(ms) * time.Millisecond
		if effects, wake := m.Step(now, failed); len(effects) != 0 || wake.Sub(now) != want {
			t.Fatalf("effects %v, wake after %v; want no effect and %v", effects, wake.Sub(now), want)
		}
		now = now.Add(want)
		if effects, _ := m.Step(now, nil); len(effects) != 1 {
			t.Fatalf("effects %v, want one eviction", effects)
		}
	}
	m.Step(now, events(nodeWithTaints("n")))
	if effects, wake := m.Step(now, failed); len(effects) != 0 || !wake.IsZero() {
		t.Errorf("a pod that no taint evicts: effects %v, wake time %v; want none", effects, wake)
	}
}

func TestOldTaintsWaitForStartupGrace(t *testing.T) {
	const unreachable = "node.kubernetes.io/unreachable"
	m := New(Options{StartupGrace: time.Minute}, at(1000))
	runSteps(t, m, []step{
		{1000, events(nodeWithTaints("n", unreachable+"@10"), podOn("n", "p"), podOn("n", "q", tol(unreachable, 300))), "", 1060},
		{1001, events(nodeWithTaints("o", "other@10"), podOn("o", "r")), "evict r by other due 10", 1060},
		{1030, events(nodeWithTaints("new", unreachable+"@1030"), podOn("new", "s")), "evict s by " + unreachable + " due 1030", 1060},
		{1060, nil, "evict p by " + unreachable + " due 1060, evict q by " + unreachable + " due 1060", 0},
	})
}

func TestDueReturnsTimeAndTaint(t *testing.T) {
	m := New(Options{}, startTime)
	m.Step(at(10), events(nodeWithTaints("n", "a@10"), podOn("n", "p", tol("a", 60)), podOn("n", "q", tol("a", -1))))
	if due, taint, ok := m.Due("ns", "p"); !ok || !due.Equal(at(70)) || taint.Key != "a" {
		t.Errorf("due %v by %v, %v; want %v by a", due, taint, ok, at(70))
	}
	for _, name := range []string{"q", "missing"} {
		if _, _, ok := m.Due("ns", name); ok {
			t.Errorf("Due(ns, %s) returned true, want false", name)
		}
	}
}

func TestUnusedNodesArePruned(t *testing.T) {
	m := New(Options{}, startTime)
	m.Step(at(1), events(nodeWithTaints("n"), podOn("n", "p"), podOn("unknown", "q"), NodeDeleted{"n"}, PodDeleted{"ns", "p"}, PodDeleted{"ns", "q"}))
	if len(m.nodes)+len(m.pods)+len(m.queue) != 0 {
		t.Errorf("%d nodes, %d pods and %d queued deadlines remain, want none", len(m.nodes), len(m.pods), len(m.queue))
	}
}
