package preemption_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/preemption"
)

// testCluster is a cluster of nodes with 4 cores each. newTestCluster creates it from pods as text:
// "name priority cpu start", with the start in seconds or "-".
type testCluster struct {
	*cluster.State
	pods map[string]*model.Pod
}

func newTestCluster(t *testing.T, nodes map[string][]string) *testCluster {
	t.Helper()
	c := &testCluster{cluster.New(), map[string]*model.Pod{}}
	for name, pods := range nodes {
		c.UpsertNode(&model.Node{Name: name, AllocatablePods: 110, Allocatable: model.Resources{MilliCPU: 4000, Memory: 8 << 30}})
		for _, line := range pods {
			p := parsePod(t, line)
			p.NodeName = name
			c.upsert(p)
		}
	}
	return c
}

func (c *testCluster) upsert(p *model.Pod) {
	c.pods[p.Name] = p
	c.UpsertPod(p)
}

func parsePod(t *testing.T, line string) *model.Pod {
	t.Helper()
	var name, start string
	var priority int32
	var cpu int64
	if _, err := fmt.Sscan(line, &name, &priority, &cpu, &start); err != nil {
		t.Fatalf("pod %q: %v", line, err)
	}
	spec := &model.PodSpec{SchedulerName: "default-scheduler", Priority: priority, Requests: model.Resources{MilliCPU: cpu}}
	spec.Scoring = spec.Requests
	p := &model.Pod{Namespace: "default", Name: name, UID: name, Labels: model.LabelsOf(map[string]string{"app": name[:1]}), Spec: spec,
		Phase: model.Running, Ready: true}
	if start != "-" {
		d, err := time.ParseDuration(start + "s")
		if err != nil {
			t.Fatalf("pod %q: %v", line, err)
		}
		p.Started = epoch.Add(d)
	}
	return p
}

// budget adds a budget for the pods whose names begin with a letter.
func (c *testCluster) budget(letter string, allowed, desired int32) {
	c.UpsertBudget(&model.Budget{Namespace: "default", Name: letter, Selector: matching("app", letter), DisruptionsAllowed: allowed, DesiredHealthy: desired})
}

// preempt evaluates a pod with both implementations and returns the selection, "node: victims",
// or else the outcome.
func (c *testCluster) preempt(t *testing.T, pod *model.Pod, o preemption.Options) (string, *decision.Preemption) {
	t.Helper()
	c.UpsertPod(pod)
	result, summary := referenceResult(c.State, profile(), 1, o, pod)
	if result == nil {
		t.Fatal("the pod fits without preemption")
	}
	for range 2 {
		got := preemption.NewPlanner(c.State, profile(), 1, o).Plan(pod, summary)
		if want := withoutCounts(result.Preemption); format(got) != format(want) {
			t.Errorf("planner: %s, reference: %s", format(got), format(want))
		}
	}
	p := &result.Preemption
	if p.Outcome != decision.PreemptionNominated {
		return p.Outcome.String(), p
	}
	var names []string
	for _, v := range p.Victims {
		names = append(names, v.Name)
	}
	return p.Node + ": " + strings.Join(names, " "), p
}

// newPreemptor returns a pending pod of priority 1000. cpu is its request in millicores.
func newPreemptor(t *testing.T, cpu int) *model.Pod {
	p := parsePod(t, fmt.Sprintf("high 1000 %d -", cpu))
	p.Phase, p.Ready = model.Pending, false
	return p
}

func TestCriteria(t *testing.T) {
	for name, c := range map[string]struct {
		nodes map[string][]string
		cpu   int
		want  string
	}{
		"lowest maximum priority": {map[string][]string{
			"n1": {"a 10 4000 1"}, "n2": {"b 5 2000 1", "c 5 2000 1"}}, 4000, "n2: b c"},
		"smallest sum of priorities": {map[string][]string{
			"n1": {"a 5 2000 1", "b 5 2000 1"}, "n2": {"c 5 2000 1", "d 4 2000 1"}}, 4000, "n2: c d"},
		"sum of priorities with an offset per victim": {map[string][]string{
			"n1": {"a 5 2000 1", "b -9 2000 1"}, "n2": {"c 5 4000 1"}}, 4000, "n2: c"},
		"latest earliest start among the victims of the highest priority": {map[string][]string{
			"n1": {"a 5 2000 1", "b 5 2000 9"}, "n2": {"c 5 2000 3", "d 5 2000 4"}}, 4000, "n2: c d"},
		"a missing start is later than any": {map[string][]string{
			"n1": {"a 5 4000 9"}, "n2": {"b 5 4000 -"}}, 4000, "n2: b"},
		"starts of victims of lower priority do not count": {map[string][]string{
			"n1": {"a 5 2000 3", "b 4 2000 1"}, "n2": {"c 5 2000 2", "d 4 2000 9"}}, 4000, "n1: a b"},
		"the most important pods are reprieved first": {map[string][]string{
			"n1": {"a 5 1000 1", "b 4 1000 1", "c 3 1000 1", "d 2 1000 1"}}, 1500, "n1: c d"},
		"among equal priorities the oldest pod is reprieved first": {map[string][]string{
			"n1": {"a 5 1000 3", "b 5 1000 1", "c 5 1000 2", "d 5 1000 4"}}, 1500, "n1: a d"},
		"less important pods can be reprieved": {map[string][]string{
			"n1": {"a 5 3000 1", "b 4 500 1", "c 3 500 1"}}, 2000, "n1: a"},
		"equal priority is no victim": {map[string][]string{
			"n1": {"a 1000 4000 1"}, "n2": {"b 1000 2000 1", "c 5 2000 1"}}, 3000, "none"},
	} {
		if got, _ := newTestCluster(t, c.nodes).preempt(t, newPreemptor(t, c.cpu), preemption.Options{}); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestFewestViolationsWin(t *testing.T) {
	c := newTestCluster(t, map[string][]string{"n1": {"a 1 4000 9"}, "n2": {"b 99 4000 1"}})
	c.budget("a", 0, 1)
	got, p := c.preempt(t, newPreemptor(t, 4000), preemption.Options{})
	if got != "n2: b" || p.Violations != 0 {
		t.Errorf("got %q with %d violations, want \"n2: b\" with 0", got, p.Violations)
	}
	c.budget("b", 0, 1)
	if got, p = c.preempt(t, newPreemptor(t, 4000), preemption.Options{}); got != "n1: a" || p.Violations != 1 {
		t.Errorf("with two budgets: got %q with %d violations, want \"n1: a\" with 1", got, p.Violations)
	}
}

// TestViolatingPodsAreReprievedFirst checks that a pod whose eviction violates a budget is reprieved
// before more important pods.
func TestViolatingPodsAreReprievedFirst(t *testing.T) {
	c := newTestCluster(t, map[string][]string{"n1": {"b 9 2000 1", "a 1 2000 1"}})
	c.budget("a", 0, 1)
	if got, p := c.preempt(t, newPreemptor(t, 2000), preemption.Options{}); got != "n1: b" || p.Violations != 0 {
		t.Errorf("got %q with %d violations, want \"n1: b\" with 0", got, p.Violations)
	}
}
