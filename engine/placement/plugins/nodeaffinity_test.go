package plugins_test

import (
	"fmt"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/testkit/build"
)

func withRequired(terms ...model.NodeSelectorTerm) build.PodOption {
	return build.Spec(func(s *model.PodSpec) { s.NodeSelector.HasRequired, s.NodeSelector.Required = true, terms })
}

func named(op model.Op, names ...string) model.NodeSelectorTerm {
	return model.NodeSelectorTerm{Fields: []model.Requirement{{Key: "metadata.name", Op: op, Values: names}}}
}

func TestNodeAffinity(t *testing.T) {
	const rejected = " NodeAffinity (UAU): node(s) didn't match Pod's node affinity/selector"
	s := build.NewState(build.Node("a", build.Labeled("disk", "ssd"), build.Labeled("cores", "16")), build.Node("b", build.Labeled("disk", "hdd")))
	gt := func(v string) model.NodeSelectorTerm {
		return model.NodeSelectorTerm{Labels: []model.Requirement{{Key: "cores", Op: model.Gt, Values: []string{v}}}}
	}
	for name, tc := range map[string]struct {
		pod  build.PodOption
		want string
	}{
		"all labels of the selector are required":       {build.Spec(func(s *model.PodSpec) { s.NodeSelector.Labels = model.Labels{{Key: "disk", Value: "ssd"}} }), "b" + rejected},
		"terms are alternatives":                        {withRequired(build.LabelIn("disk", "none"), build.LabelIn("disk", "ssd")), "b" + rejected},
		"a term is a conjunction":                       {withRequired(model.NodeSelectorTerm{Labels: []model.Requirement{{Key: "disk", Op: model.Exists}, {Key: "cores", Op: model.DoesNotExist}}}), "a" + rejected},
		"Gt compares integers":                          {withRequired(gt("8")), "b" + rejected},
		"Gt is strict":                                  {withRequired(gt("16")), "a" + rejected + "; b" + rejected},
		"an empty term matches nothing":                 {withRequired(model.NodeSelectorTerm{}), "a" + rejected + "; b" + rejected},
		"an empty list of terms matches nothing":        {withRequired(), "a" + rejected + "; b" + rejected},
		"a malformed term matches nothing":              {withRequired(model.NodeSelectorTerm{Labels: gt("8").Labels, Malformed: true}), "a" + rejected + "; b" + rejected},
		"NotIn metadata.name does not limit the search": {withRequired(named(model.NotIn, "a")), "a" + rejected},
		"preferred terms do not filter": {build.Spec(func(s *model.PodSpec) {
			s.NodeSelector.Preferred = []model.PreferredSchedulingTerm{{Weight: 1, Term: build.LabelIn("disk", "x")}}
		}), ""},
		"NotIn matches a missing label": {withRequired(model.NodeSelectorTerm{Labels: []model.Requirement{{Key: "cores", Op: model.NotIn, Values: []string{"16"}}}}), "a" + rejected},
	} {
		t.Run(name, func(t *testing.T) {
			build.Expect(t, "verdicts", build.Verdicts(decide(t, s, build.Pod("p", tc.pod))), tc.want)
		})
	}
}

func TestNodeNamesLimitSearch(t *testing.T) {
	both := model.NodeSelectorTerm{Fields: append(named(model.In, "a", "b").Fields, named(model.In, "b", "c").Fields...)}
	for name, tc := range map[string]struct {
		terms []model.NodeSelectorTerm
		names string
		want  string
	}{
		"by metadata.name":                   {[]model.NodeSelectorTerm{named(model.In, "b")}, "[b]", "a PreFilterResult (UAU)"},
		"names of missing nodes are ignored": {[]model.NodeSelectorTerm{named(model.In, "z")}, "[z]", "a PreFilterResult (UAU); b PreFilterResult (UAU)"},
		"the union of the terms":             {[]model.NodeSelectorTerm{named(model.In, "b"), named(model.In, "a")}, "[a b]", ""},
		"the intersection within a term":     {[]model.NodeSelectorTerm{both}, "[b]", "a PreFilterResult (UAU)"},
		"only if every term has names": {[]model.NodeSelectorTerm{named(model.In, "b"), build.LabelIn("disk", "x")}, "[]",
			"a NodeAffinity (UAU): node(s) didn't match Pod's node affinity/selector"},
	} {
		t.Run(name, func(t *testing.T) {
			r := decide(t, build.NewState(build.Node("a"), build.Node("b")), build.Pod("p", withRequired(tc.terms...)))
			build.Expect(t, "names", fmt.Sprint(r.PreFilterNodes), tc.names)
			build.Expect(t, "verdicts", build.Verdicts(r), tc.want)
		})
	}
	r := decide(t, build.NewState(build.Node("a")), build.Pod("p", withRequired(model.NodeSelectorTerm{Fields: append(named(model.In, "a").Fields, named(model.In, "b").Fields...)})))
	if r.PreFilter == nil || decision.JoinReasons(r.PreFilter.Reasons) != "pod affinity terms conflict" || r.PreFilter.Plugin != decision.NodeAffinity || len(r.Nodes) != 0 {
		t.Errorf("PreFilter verdict with conflicting names: %+v with %d node records, want \"pod affinity terms conflict\" by NodeAffinity without node records", r.PreFilter, len(r.Nodes))
	}
}

func TestAddedAffinity(t *testing.T) {
	added := func(c *framework.Config) {
		c.AddedAffinity = framework.AddedAffinity{HasRequired: true, Required: []model.NodeSelectorTerm{build.LabelIn("zone", "z1", "z2")},
			Preferred: []model.PreferredSchedulingTerm{{Weight: 30, Term: build.LabelIn("zone", "z1")}}}
	}
	preferred := build.Spec(func(s *model.PodSpec) {
		s.NodeSelector.Preferred = []model.PreferredSchedulingTerm{{Weight: 10, Term: build.LabelIn("zone", "z2")}}
	})
	r := decide(t, build.NewState(build.Node("a", build.Zone("z1")), build.Node("b", build.Zone("z2")), build.Node("c")), build.Pod("p", preferred), added)
	build.Expect(t, "verdicts", build.Verdicts(r), "c NodeAffinity (UAU): node(s) didn't match scheduler-enforced node affinity")
	build.Expect(t, "points", build.Points(r, decision.NodeAffinity), "a=200 b=66")
}

func TestPreferredNodeAffinity(t *testing.T) {
	prefers := func(terms ...model.PreferredSchedulingTerm) build.PodOption {
		return build.Spec(func(s *model.PodSpec) { s.NodeSelector.Preferred = terms })
	}
	s := build.NewState(build.Node("a", build.Zone("z1"), build.Labeled("disk", "ssd")), build.Node("b", build.Zone("z1")), build.Node("c"))
	z1, ssd := model.PreferredSchedulingTerm{Weight: 2, Term: build.LabelIn("zone", "z1")}, model.PreferredSchedulingTerm{Weight: 1, Term: build.LabelIn("disk", "ssd")}
	build.Expect(t, "weights add up", build.Points(decide(t, s, build.Pod("p", prefers(z1, ssd))), decision.NodeAffinity), "a=200 b=132 c=0")
	build.Expect(t, "no preference: no score", build.Points(decide(t, s, build.Pod("p")), decision.NodeAffinity), "")
	build.Expect(t, "no node matches", build.Points(decide(t, s, build.Pod("p", prefers(model.PreferredSchedulingTerm{Weight: 5, Term: build.LabelIn("x", "y")}))), decision.NodeAffinity), "a=0 b=0 c=0")

	malformed := build.Spec(func(s *model.PodSpec) {
		s.ParseErrors = []model.ParseError{{Kind: model.ParseErrorPreferredNodeAffinity, Message: "no number"}}
	})
	r := decide(t, s, build.Pod("p", malformed))
	if r.Outcome != decision.Errored {
		t.Errorf("outcome with a malformed preference: %v, want error", r.Outcome)
	}
	build.Expect(t, "error", r.Error, `running PreScore plugin "NodeAffinity": no number`)
	if r := decide(t, build.NewState(build.Node("a")), build.Pod("p", malformed)); r.Outcome != decision.Scheduled {
		t.Errorf("outcome with a malformed preference and a single node, which is not scored: %v: %s; want scheduled", r.Outcome, r.Error)
	}
}
