package preemption_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/preemption"
)

// deferResize makes the requests of a pod desired ones that its node defers; it has current millicores.
func (c *testCluster) deferResize(name string, current int64) *model.Pod {
	p := *c.pods[name]
	p.DeferredResize = &model.DeferredResize{Current: model.Resources{MilliCPU: current}}
	c.upsert(&p)
	return &p
}

// resize evaluates a pod with a deferred resize and returns the victims, or the outcome with the reasons.
func (c *testCluster) resize(pod *model.Pod, awaitVictims bool) string {
	s := preemption.EvaluateResize(c.State, profile(), preemption.Defaults(), pod, awaitVictims)
	p := s.Preemption
	if p.Outcome == decision.PreemptionNominated {
		var names []string
		for _, v := range p.Victims {
			if c.State.Pod(v.UID) != v {
				return "victim " + v.Name + " is not the pod of the state"
			}
			names = append(names, v.Name)
		}
		return p.Node + ": " + strings.Join(names, " ")
	}
	var reasons []string
	for i := range s.ReasonCounts {
		reasons = append(reasons, s.ReasonCounts[i].Reason.String())
	}
	return strings.TrimSpace(p.Outcome.String() + " " + strings.Join(reasons, ", "))
}

// TestEvaluateResize checks nodes of 4000 millicores. Pods are written as "name priority millicores start".
func TestEvaluateResize(t *testing.T) {
	for name, tc := range map[string]struct {
		pods    []string
		current map[string]int64 // of deferred resizes; "r" is evaluated
		change  func(c *testCluster)
		want    string
	}{
		"one victim":                   {[]string{"r 5 3000 1", "a 1 1000 1", "b 1 500 2"}, map[string]int64{"r": 2000}, nil, "n1: b"},
		"least important victims":      {[]string{"r 5 3000 1", "a 1 1000 1", "b 2 500 2"}, map[string]int64{"r": 2000}, nil, "n1: a"},
		"fits meanwhile":               {[]string{"r 5 3000 1", "a 1 1000 1"}, map[string]int64{"r": 2000}, nil, "fits"},
		"only higher priorities":       {[]string{"r 5 3000 1", "a 5 1500 1"}, map[string]int64{"r": 2000}, nil, "none Insufficient cpu"},
		"not enough lower pods":        {[]string{"r 5 3000 1", "a 5 1200 1", "b 1 300 1"}, map[string]int64{"r": 2000}, nil, "none Insufficient cpu"},
		"larger than the node":         {[]string{"r 5 5000 1", "a 1 1000 1"}, map[string]int64{"r": 2000}, nil, "none Insufficient cpu"},
		"later resizes do not count":   {[]string{"r 5 2000 1", "a 1 3000 1", "b 1 3000 2", "c 1 3000 3"}, map[string]int64{"r": 1000, "a": 1000, "b": 1000, "c": 1000}, nil, "n1: c"},
		"resizes of a higher priority": {[]string{"r 5 2000 1", "a 9 2000 1", "b 1 500 1"}, map[string]int64{"r": 1000, "a": 1000}, nil, "n1: b"},
		"preemptionPolicy Never": {[]string{"r 5 3000 1", "a 1 1500 1"}, map[string]int64{"r": 2000}, func(c *testCluster) {
			spec := *c.pods["r"].Spec
			spec.NeverPreempts = true
			p := *c.pods["r"]
			p.Spec = &spec
			c.upsert(&p)
		}, "never Insufficient cpu"},
		"disabled on the node": {[]string{"r 5 3000 1", "a 1 1500 1"}, map[string]int64{"r": 2000}, func(c *testCluster) {
			id, _ := c.NodeID("n1")
			n := *c.Node(id).Model
			n.NoResizePreemption = true
			c.UpsertNode(&n)
		}, "disabled node had resize preemption disabled"},
		"victims that do not violate a budget first": {[]string{"r 5 3000 1", "a 1 1000 1", "b 1 1000 2"}, map[string]int64{"r": 2000}, func(c *testCluster) {
			c.budget("b", 0, 1)
		}, "n1: a"},
		"a budget is overruled last": {[]string{"r 5 3500 1", "a 1 1000 1"}, map[string]int64{"r": 2000}, func(c *testCluster) {
			c.budget("a", 0, 1)
		}, "n1: a"},
		"reservation of a nominated pod": {[]string{"r 5 2000 1", "a 1 1500 1"}, map[string]int64{"r": 1000}, func(c *testCluster) {
			p := parsePod(t, "p 7 1000 -")
			p.NominatedNodeName, p.Phase = "n1", model.Pending
			c.upsert(p)
		}, "n1: a"},
		"taints and affinity are not checked": {[]string{"r 5 3000 1", "a 1 1500 1"}, map[string]int64{"r": 2000}, func(c *testCluster) {
			id, _ := c.NodeID("n1")
			n := *c.Node(id).Model
			n.Taints, n.Unschedulable = []model.Taint{{Key: "k", Effect: model.NoSchedule}}, true
			c.UpsertNode(&n)
		}, "n1: a"},
		"victims of an earlier preemption": {[]string{"r 5 3000 1", "a 1 1000 1", "b 1 1000 2"}, map[string]int64{"r": 2000}, func(c *testCluster) {
			p := *c.pods["b"]
			p.Deleting, p.DisruptionReason = true, "PreemptionByScheduler"
			c.upsert(&p)
		}, "waits Insufficient cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newTestCluster(t, map[string][]string{"n1": tc.pods, "n2": {"z 0 10 1"}})
			for pod, current := range tc.current {
				c.deferResize(pod, current)
			}
			if tc.change != nil {
				tc.change(c)
			}
			if got := c.resize(c.pods["r"], true); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestResizeWithOverdueVictims checks that victims that do not terminate in time are not selected again, count as
// usage, and do not prevent the selection of others. "stuck" is the least important pod.
func TestResizeWithOverdueVictims(t *testing.T) {
	for name, tc := range map[string]struct {
		pods    []string
		current map[string]int64
		want    string
	}{
		"another victim":           {[]string{"r 5 3000 1", "stuck 1 1000 9", "b 1 1000 1"}, map[string]int64{"r": 2000}, "n1: b"},
		"several victims":          {[]string{"r 5 3000 1", "stuck 1 500 9", "a 1 600 8", "b 2 600 1", "c 4 10 1"}, map[string]int64{"r": 2000}, "n1: b a"},
		"deferred resize of it":    {[]string{"r 5 3000 1", "stuck 1 3000 9", "b 1 1000 1"}, map[string]int64{"r": 2000, "stuck": 1000}, "n1: b"},
		"no other victim":          {[]string{"r 5 3000 1", "stuck 1 1500 9"}, map[string]int64{"r": 2000}, "none Insufficient cpu"},
		"others do not make room":  {[]string{"r 5 3000 1", "stuck 1 1500 9", "b 1 500 1"}, map[string]int64{"r": 2000}, "none Insufficient cpu"},
		"fits although it remains": {[]string{"r 5 3000 1", "stuck 1 1000 9"}, map[string]int64{"r": 2000}, "fits"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newTestCluster(t, map[string][]string{"n1": tc.pods})
			for pod, current := range tc.current {
				c.deferResize(pod, current)
			}
			stuck := *c.pods["stuck"]
			stuck.Deleting, stuck.DisruptionReason = true, "PreemptionByScheduler"
			c.upsert(&stuck)
			if got := c.resize(c.pods["r"], true); got != "waits Insufficient cpu" && got != tc.want {
				t.Errorf("in time: %q, want it to wait", got)
			}
			if got := c.resize(c.pods["r"], false); got != tc.want {
				t.Errorf("overdue: %q, want %q", got, tc.want)
			}
		})
	}
}

// TestResizeMakesRoom checks random nodes: without the victims the desired requests fit, no victim can be
// reprieved, and no victim has the priority of the pod.
func TestResizeMakesRoom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	outcomes := map[string]int{}
	for range 2000 {
		var pods []string
		for i := range 1 + r.IntN(6) {
			pods = append(pods, fmt.Sprintf("%c%d %d %d %d", 'a'+rune(r.IntN(3)), i, r.IntN(4), 100+r.IntN(1500), r.IntN(9)))
		}
		pods = append(pods, fmt.Sprintf("r %d %d 1", r.IntN(4), 500+r.IntN(4000)))
		c := newTestCluster(t, map[string][]string{"n1": pods})
		pod := c.deferResize("r", 100)
		if r.IntN(2) == 0 {
			c.budget("a", int32(r.IntN(2)), 1)
		}
		s := preemption.EvaluateResize(c.State, profile(), preemption.Defaults(), pod, true)
		victims := map[string]bool{}
		for _, v := range s.Preemption.Victims {
			victims[v.Name] = true
			if v.Spec.Priority >= pod.Spec.Priority {
				t.Fatalf("%q: victim %s has priority %d, want less than %d", pods, v.Name, v.Spec.Priority, pod.Spec.Priority)
			}
		}
		free := func(without map[string]bool, lower bool) int64 {
			remaining := int64(4000)
			for name, p := range c.pods {
				if name != "r" && !without[name] && (!lower || p.Spec.Priority >= pod.Spec.Priority) {
					remaining -= p.Spec.Requests.MilliCPU
				}
			}
			return remaining - pod.Spec.Requests.MilliCPU
		}
		outcomes[s.Preemption.Outcome.String()]++
		switch s.Preemption.Outcome {
		case decision.PreemptionNotNeeded:
			if free(nil, false) < 0 {
				t.Fatalf("%q: fits, want it not to", pods)
			}
		case decision.PreemptionNoCandidates:
			if free(nil, true) >= 0 {
				t.Fatalf("%q: no candidates, want victims", pods)
			}
		case decision.PreemptionNominated:
			if free(victims, false) < 0 {
				t.Fatalf("%q: victims %v do not make room", pods, victims)
			}
			for name := range victims {
				fewer := map[string]bool{}
				for other := range victims {
					fewer[other] = other != name
				}
				if free(fewer, false) >= 0 {
					t.Fatalf("%q: victims %v, but %s could stay", pods, victims, name)
				}
			}
		default:
			t.Fatalf("%q: outcome %s, want another one", pods, s.Preemption.Outcome)
		}
	}
	if len(outcomes) != 3 {
		t.Errorf("outcomes %v, want all three", outcomes)
	}
}
