package placement

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

func TestOutcomes(t *testing.T) {
	gated := spec(func(s *model.PodSpec) { s.Gates = []string{"b", "a"} })
	dying := func(p *model.Pod) { p.Deleting = true }
	foreign := spec(func(s *model.PodSpec) { s.SchedulerName = "other" })
	claims := func(c model.PodResourceClaim) podOption {
		return spec(func(s *model.PodSpec) { s.ResourceClaims = []model.PodResourceClaim{c} })
	}
	for name, tc := range map[string]struct {
		pod  *model.Pod
		want string
	}{
		"a pod that fits is scheduled":       {pod("p"), "scheduled"},
		"of another scheduler it is ignored": {pod("p", foreign, gated), "ignored"},
		"finished it is ignored":             {pod("p", func(p *model.Pod) { p.Phase = model.Failed }, dying), "ignored"},
		"dying it is skipped":                {pod("p", dying), "skipped"},
		"gates come before that":             {pod("p", dying, gated), "gated SchedulingGates: waiting for scheduling gates: [b a]"},
		"device claims hold it":              {pod("p", claims(model.PodResourceClaim{Name: "c", Claim: "x"})), `gated DynamicResources: could not find ResourceClaim "default/x"`},
		"templates of them, too": {pod("p", claims(model.PodResourceClaim{Name: "c", Template: "x"})),
			`gated DynamicResources: pod "default/p": ResourceClaim not created yet`},
		"so does a group": {pod("p", spec(func(s *model.PodSpec) { s.SchedulingGroup = "g" })),
			`gated GangScheduling: spec.schedulingGroup: pod group "g": pods of a group are not scheduled yet; remove the field to place the pod by itself`},
	} {
		t.Run(name, func(t *testing.T) {
			r := decide(t, newState(node("a")), tc.pod)
			got := r.Outcome.String()
			if v := r.PreEnqueue; v != nil {
				got += fmt.Sprintf(" %s: %s", v.Plugin, decision.JoinReasons(v.Reasons))
			}
			expect(t, "outcome", got, tc.want)
		})
	}
	if r := decide(t, newState(), pod("p")); r.Outcome != decision.Infeasible || r.Nodes != nil || r.PreFilter != nil {
		t.Errorf("without nodes the record is %+v", r)
	}
}

func TestFirstRejectingPluginIsRecorded(t *testing.T) {
	// In the default order the taint comes before resources.
	s := newState(node("a", tainted("t", "", model.NoSchedule)), node("b"))
	big := pod("p", requests(5000, 0))
	r := decide(t, s, big)
	expect(t, "verdicts", verdicts(r), "a TaintToleration (UAU): node(s) had untolerated taint(s); b NodeResourcesFit (UAU): Insufficient cpu")
	if want := decision.PluginSet(0).With(decision.TaintToleration).With(decision.NodeResourcesFit); r.UnschedulablePlugins != want {
		t.Errorf("rejectors are %b, want %b", r.UnschedulablePlugins, want)
	}
	r = decide(t, s, big, func(c *Config) { slices.Reverse(c.Filter) })
	expect(t, "in another order", verdicts(r), "a NodeResourcesFit (UAU): Insufficient cpu; b NodeResourcesFit (UAU): Insufficient cpu")
	r = decide(t, s, pod("p"), func(c *Config) {
		c.Filter = slices.DeleteFunc(c.Filter, func(r decision.Plugin) bool { return r == decision.TaintToleration })
	})
	expect(t, "with the rule disabled", verdicts(r), "")
}

func nominated(node string, priority int32) podOption {
	return func(p *model.Pod) { p.NominatedNodeName, p.Spec.Priority = node, priority }
}

func TestNominatedPodsCountUnlessTheyHaveLowerPriority(t *testing.T) {
	const full = "a NodeResourcesFit (U): Insufficient cpu"
	for name, tc := range map[string]struct {
		nominee, pod *model.Pod
		want         string
	}{
		"one of higher priority counts":  {pod("x", nominated("a", 2), requests(3000, 0)), pod("p", requests(2000, 0), nominated("", 1)), full},
		"one of equal priority counts":   {pod("x", nominated("a", 1), requests(3000, 0)), pod("p", requests(2000, 0), nominated("", 1)), full},
		"one of lower priority does not": {pod("x", nominated("a", 0), requests(3000, 0)), pod("p", requests(2000, 0), nominated("", 1)), ""},
		"the pod does not count itself":  {pod("p", nominated("a", 1), requests(3000, 0)), pod("p", requests(3000, 0), nominated("a", 1)), ""},
		"affinity cannot rely on one": {pod("x", nominated("a", 1), app("db")), pod("p", with(near(HostnameKey, "db"))),
			"a" + farOff},
		"anti-affinity respects one": {pod("x", nominated("a", 1), app("db")), pod("p", without(near(HostnameKey, "db"))), "a" + tooNear},
		"and its anti-affinity": {pod("x", nominated("a", 1), without(near(HostnameKey, "web"))), pod("p", app("web"), spec(func(s *model.PodSpec) {
			s.AntiAffinity = []model.PodAffinityTerm{near(HostnameKey, "none")}
		})), "a" + unwanted},
		"ports are taken": {pod("x", nominated("a", 1), spec(func(s *model.PodSpec) { s.Ports = []model.HostPort{{IP: anyIP, Protocol: "TCP", Port: 80}} })),
			pod("p", spec(func(s *model.PodSpec) { s.Ports = []model.HostPort{{IP: anyIP, Protocol: "TCP", Port: 80}} })),
			"a NodePorts (U): node(s) didn't have free ports for the requested pod ports"},
		"spread counts it in its domain": {pod("x", nominated("a", 1), app("web")), pod("p", app("web"), spreads(overZones())), "a" + skewed},
	} {
		t.Run(name, func(t *testing.T) {
			s := newState(node("a", zone("z1")), tc.nominee)
			if name == "spread counts it in its domain" {
				s.UpsertNode(node("b", zone("z2")))
			}
			expect(t, "verdicts", verdicts(decide(t, s, tc.pod)), tc.want)
		})
	}
}

func TestNominatedNodeIsEvaluatedFirst(t *testing.T) {
	s := newState(node("a"), node("b"), pod("x", onNode("b"), requests(3000, 0)))
	r := decide(t, s, pod("p", nominated("b", 1), requests(1000, 0)))
	if !r.NominatedFirst || r.Choice != "b" || len(r.Nodes) != 1 || len(r.Nodes[0].Scores) == 0 || !slices.Equal(r.Top, []string{"b"}) {
		t.Errorf("record is %+v", r)
	}
	r = decide(t, s, pod("p", nominated("b", 1), requests(2000, 0)))
	if r.NominatedFirst || r.Choice != "a" || len(r.Nodes) != 2 {
		t.Errorf("with b full the record is %+v", r)
	}
	if r = decide(t, s, pod("p", nominated("gone", 1))); r.NominatedFirst || r.Choice != "a" {
		t.Errorf("with a node that is gone the record is %+v", r)
	}
}

func TestTieBreaking(t *testing.T) {
	var objects []any
	for i := range 8 {
		objects = append(objects, node(fmt.Sprint("n", i)))
	}
	s, p := newState(objects...), profile(t)
	chosen := map[string]int{}
	for i := range 400 {
		r := Evaluate(s, p, 7, pod(fmt.Sprint("p", i)))
		if len(r.Top) != 8 {
			t.Fatalf("top is %v, want all nodes", r.Top)
		}
		chosen[r.Choice]++
		if again := Evaluate(s.Fork(), p, 7, pod(fmt.Sprint("p", i))); again.Choice != r.Choice {
			t.Fatalf("the same pod went to %s, then to %s", r.Choice, again.Choice)
		}
	}
	if len(chosen) != 8 {
		t.Errorf("only %v were ever chosen of equals", chosen)
	}
	if Evaluate(s, p, 1, pod("p")).Choice == Evaluate(s, p, 2, pod("p")).Choice && Evaluate(s, p, 1, pod("q")).Choice == Evaluate(s, p, 3, pod("q")).Choice {
		t.Error("the seed has no influence")
	}
}

func TestWeightsMultiplyPoints(t *testing.T) {
	only := func(c *Config) {
		c.Score = []WeightedPlugin{{decision.NodeResourcesFit, 3}, {decision.ImageLocality, 0}}
	}
	r := decide(t, newState(node("a"), node("b"), pod("x", onNode("a"), requests(4000, 0))), pod("p"), only)
	expect(t, "points", points(r, decision.NodeResourcesFit), "a=150 b=300")
	expect(t, "weight 0 is 1", points(r, decision.ImageLocality), "a=0 b=0")
	expect(t, "choice", fmt.Sprint(r.Choice, r.Top, r.Nodes[1].Total), "b[b] 300")
}
