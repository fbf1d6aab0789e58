package placement

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/testkit/build"
)

func TestOutcomes(t *testing.T) {
	gated := build.Spec(func(s *model.PodSpec) { s.Gates = []string{"b", "a"} })
	terminating := func(p *model.Pod) { p.Deleting = true }
	otherScheduler := build.Spec(func(s *model.PodSpec) { s.SchedulerName = "other" })
	claims := func(c model.PodResourceClaim) build.PodOption {
		return build.Spec(func(s *model.PodSpec) { s.ResourceClaims = []model.PodResourceClaim{c} })
	}
	for name, tc := range map[string]struct {
		pod  *model.Pod
		want string
	}{
		"feasible pod":                     {build.Pod("p"), "scheduled"},
		"pod of another scheduler":         {build.Pod("p", otherScheduler, gated), "ignored"},
		"finished pod":                     {build.Pod("p", func(p *model.Pod) { p.Phase = model.Failed }, terminating), "ignored"},
		"terminating pod":                  {build.Pod("p", terminating), "skipped"},
		"scheduling gates take precedence": {build.Pod("p", terminating, gated), "gated SchedulingGates: waiting for scheduling gates: [b a]"},
		"pod with device claims":           {build.Pod("p", claims(model.PodResourceClaim{Name: "c", Claim: "x"})), `gated DynamicResources: could not find ResourceClaim "default/x"`},
		"pod with a claim template": {build.Pod("p", claims(model.PodResourceClaim{Name: "c", Template: "x"})),
			`gated DynamicResources: pod "default/p": ResourceClaim not created yet`},
		"pod of a scheduling group": {build.Pod("p", build.Spec(func(s *model.PodSpec) { s.SchedulingGroup = "g" })),
			`gated GangScheduling: spec.schedulingGroup: pod group "g": pods of a group are not scheduled yet; remove the field to place the pod by itself`},
	} {
		t.Run(name, func(t *testing.T) {
			r := decide(t, build.NewState(build.Node("a")), tc.pod)
			got := r.Outcome.String()
			if v := r.PreEnqueue; v != nil {
				got += fmt.Sprintf(" %s: %s", v.Plugin, decision.JoinReasons(v.Reasons))
			}
			build.Expect(t, "outcome", got, tc.want)
		})
	}
	if r := decide(t, build.NewState(), build.Pod("p")); r.Outcome != decision.Infeasible || r.Nodes != nil || r.PreFilter != nil {
		t.Errorf("record without nodes: %+v, want outcome unschedulable without verdicts", r)
	}
}

func TestFirstRejectingPluginIsRecorded(t *testing.T) {
	// In the default order the taint comes before resources.
	s := build.NewState(build.Node("a", build.Tainted("t", "", model.NoSchedule)), build.Node("b"))
	big := build.Pod("p", build.Requests(5000, 0))
	r := decide(t, s, big)
	build.Expect(t, "verdicts", build.Verdicts(r), "a TaintToleration (UAU): node(s) had untolerated taint(s); b NodeResourcesFit (UAU): Insufficient cpu")
	if want := decision.PluginSet(0).With(decision.TaintToleration).With(decision.NodeResourcesFit); r.UnschedulablePlugins != want {
		t.Errorf("UnschedulablePlugins is %b, want %b", r.UnschedulablePlugins, want)
	}
	r = decide(t, s, big, func(c *framework.Config) { slices.Reverse(c.Filter) })
	build.Expect(t, "in another order", build.Verdicts(r), "a NodeResourcesFit (UAU): Insufficient cpu; b NodeResourcesFit (UAU): Insufficient cpu")
	r = decide(t, s, build.Pod("p"), func(c *framework.Config) {
		c.Filter = slices.DeleteFunc(c.Filter, func(p decision.Plugin) bool { return p == decision.TaintToleration })
	})
	build.Expect(t, "with the plugin disabled", build.Verdicts(r), "")
}

func nominated(node string, priority int32) build.PodOption {
	return func(p *model.Pod) { p.NominatedNodeName, p.Spec.Priority = node, priority }
}

func TestNominatedNodeIsEvaluatedFirst(t *testing.T) {
	s := build.NewState(build.Node("a"), build.Node("b"), build.Pod("x", build.OnNode("b"), build.Requests(3000, 0)))
	r := decide(t, s, build.Pod("p", nominated("b", 1), build.Requests(1000, 0)))
	if !r.NominatedFirst || r.Choice != "b" || len(r.Nodes) != 1 || len(r.Nodes[0].Scores) == 0 || !slices.Equal(r.Top, []string{"b"}) {
		t.Errorf("record %+v, want only the nominated node b", r)
	}
	r = decide(t, s, build.Pod("p", nominated("b", 1), build.Requests(2000, 0)))
	if r.NominatedFirst || r.Choice != "a" || len(r.Nodes) != 2 {
		t.Errorf("record with full node b: %+v, want choice a among 2 nodes", r)
	}
	if r = decide(t, s, build.Pod("p", nominated("deleted", 1))); r.NominatedFirst || r.Choice != "a" {
		t.Errorf("record with a deleted nominated node: %+v, want choice a", r)
	}
}

func TestTieBreaking(t *testing.T) {
	var objects []any
	for i := range 8 {
		objects = append(objects, build.Node(fmt.Sprint("n", i)))
	}
	s, p := build.NewState(objects...), profile(t)
	chosen := map[string]int{}
	for i := range 400 {
		r := Evaluate(s, p, 7, build.Pod(fmt.Sprint("p", i)))
		if len(r.Top) != 8 {
			t.Fatalf("top is %v, want all nodes", r.Top)
		}
		chosen[r.Choice]++
		if second := Evaluate(s.Fork(), p, 7, build.Pod(fmt.Sprint("p", i))); second.Choice != r.Choice {
			t.Fatalf("the same pod was placed on %s, then on %s", r.Choice, second.Choice)
		}
	}
	if len(chosen) != 8 {
		t.Errorf("chosen nodes %v, want all 8", chosen)
	}
	if Evaluate(s, p, 1, build.Pod("p")).Choice == Evaluate(s, p, 2, build.Pod("p")).Choice && Evaluate(s, p, 1, build.Pod("q")).Choice == Evaluate(s, p, 3, build.Pod("q")).Choice {
		t.Error("seeds 1 and 2 select the same node for pod p, and seeds 1 and 3 for pod q; want a difference")
	}
}

// TestWeightsMultiplyPoints checks that the points of a plugin are multiplied by its weight, and that the weight 0 is 1.
func TestWeightsMultiplyPoints(t *testing.T) {
	fitAndImages := func(c *framework.Config) {
		c.Score = []framework.WeightedPlugin{{Plugin: decision.NodeResourcesFit, Weight: 3}, {Plugin: decision.ImageLocality, Weight: 0}}
	}
	withImage := func(n *model.Node) {
		n.Images = append(n.Images, model.Image{Names: []string{"big"}, Size: 1000 << 20})
	}
	usesImage := build.Spec(func(s *model.PodSpec) { s.Images = []string{"big"} })
	r := decide(t, build.NewState(build.Node("a"), build.Node("b", withImage), build.Pod("x", build.OnNode("a"), build.Requests(4000, 0))), build.Pod("p", usesImage), fitAndImages)
	build.Expect(t, "points with weight 3", build.Points(r, decision.NodeResourcesFit), "a=150 b=300")
	build.Expect(t, "points with weight 0", build.Points(r, decision.ImageLocality), "a=0 b=48")
	build.Expect(t, "choice", fmt.Sprint(r.Choice, r.Top, r.Nodes[1].Total), "b[b] 348")
}
