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

// small is a cluster in text form: nodes of 4 cores each, with pods "name prio cpu start", start
// in seconds, "-" for none.
type small struct {
	*cluster.State
	pods map[string]*model.Pod
}

func build(t *testing.T, nodes map[string][]string) *small {
	t.Helper()
	c := &small{cluster.New(), map[string]*model.Pod{}}
	for name, pods := range nodes {
		c.UpsertNode(&model.Node{Name: name, AllocatablePods: 110, Allocatable: model.Resources{MilliCPU: 4000, Memory: 8 << 30}})
		for _, line := range pods {
			p := parsePod(t, line)
			p.NodeName = name
			c.put(p)
		}
	}
	return c
}

func (c *small) put(p *model.Pod) {
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
func (c *small) budget(letter string, allowed, desired int32) {
	c.UpsertBudget(&model.Budget{Namespace: "default", Name: letter, Selector: of("app", letter), DisruptionsAllowed: allowed, DesiredHealthy: desired})
}

// preempt evaluates a pod with both implementations and returns the selection: "node: victims".
func (c *small) preempt(t *testing.T, pod *model.Pod, o preemption.Options) (string, *decision.Preemption) {
	t.Helper()
	c.UpsertPod(pod)
	result, sum := referenceResult(c.State, profile(), 1, o, pod)
	if result == nil {
		t.Fatal("the pod fits somewhere")
	}
	for range 2 {
		got := preemption.NewPlanner(c.State, profile(), 1, o).Plan(pod, sum)
		if want := planned(result.Preemption); show(got) != show(want) {
			t.Errorf("planner: %s, reference: %s", show(got), show(want))
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

// high returns a pod that has to preempt.
func high(t *testing.T, cpu int) *model.Pod {
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
		"the lowest highest priority": {map[string][]string{
			"n1": {"a 10 4000 1"}, "n2": {"b 5 2000 1", "c 5 2000 1"}}, 4000, "n2: b c"},
		"then the smallest sum": {map[string][]string{
			"n1": {"a 5 2000 1", "b 5 2000 1"}, "n2": {"c 5 2000 1", "d 4 2000 1"}}, 4000, "n2: c d"},
		"sum of priorities with an offset per victim": {map[string][]string{
			"n1": {"a 5 2000 1", "b -9 2000 1"}, "n2": {"c 5 4000 1"}}, 4000, "n2: c"},
		"then the latest of the earliest starts of the highest": {map[string][]string{
			"n1": {"a 5 2000 1", "b 5 2000 9"}, "n2": {"c 5 2000 3", "d 5 2000 4"}}, 4000, "n2: c d"},
		"a missing start is later than any": {map[string][]string{
			"n1": {"a 5 4000 9"}, "n2": {"b 5 4000 -"}}, 4000, "n2: b"},
		"starts of others than the highest do not count": {map[string][]string{
			"n1": {"a 5 2000 3", "b 4 2000 1"}, "n2": {"c 5 2000 2", "d 4 2000 9"}}, 4000, "n1: a b"},
		"the most important are put back first": {map[string][]string{
			"n1": {"a 5 1000 1", "b 4 1000 1", "c 3 1000 1", "d 2 1000 1"}}, 1500, "n1: c d"},
		"among equals the oldest": {map[string][]string{
			"n1": {"a 5 1000 3", "b 5 1000 1", "c 5 1000 2", "d 5 1000 4"}}, 1500, "n1: a d"},
		"only the pod that cannot be reprieved": {map[string][]string{
			"n1": {"a 5 3000 1", "b 4 500 1", "c 3 500 1"}}, 2000, "n1: a"},
		"equal priority is no victim": {map[string][]string{
			"n1": {"a 1000 4000 1"}, "n2": {"b 1000 2000 1", "c 5 2000 1"}}, 3000, "none"},
	} {
		if got, _ := build(t, c.nodes).preempt(t, high(t, c.cpu), preemption.Options{}); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestFewestViolationsWin(t *testing.T) {
	c := build(t, map[string][]string{"n1": {"a 1 4000 9"}, "n2": {"b 99 4000 1"}})
	c.budget("a", 0, 1)
	got, p := c.preempt(t, high(t, 4000), preemption.Options{})
	if got != "n2: b" || p.Violations != 0 {
		t.Errorf("got %q with %d violations", got, p.Violations)
	}
	c.budget("b", 0, 1)
	if got, p = c.preempt(t, high(t, 4000), preemption.Options{}); got != "n1: a" || p.Violations != 1 {
		t.Errorf("with both under budgets: got %q with %d violations", got, p.Violations)
	}
}

// A pod whose eviction violates a budget is reprieved before more important ones.
func TestViolatingPodsAreReprievedFirst(t *testing.T) {
	c := build(t, map[string][]string{"n1": {"b 9 2000 1", "a 1 2000 1"}})
	c.budget("a", 0, 1)
	if got, p := c.preempt(t, high(t, 2000), preemption.Options{}); got != "n1: b" || p.Violations != 0 {
		t.Errorf("got %q with %d violations", got, p.Violations)
	}
}
