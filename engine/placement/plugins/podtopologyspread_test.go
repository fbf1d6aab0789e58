package plugins_test

import (
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/testkit/build"
)

func spreads(cs ...model.SpreadConstraint) build.PodOption {
	return build.Spec(func(s *model.PodSpec) { s.Spread = cs })
}

func overZones(change ...func(*model.SpreadConstraint)) model.SpreadConstraint {
	c := model.SpreadConstraint{TopologyKey: "zone", MaxSkew: 1, MinDomains: 1, Hard: true, Selector: build.Matches("app", "web")}
	for _, f := range change {
		f(&c)
	}
	return c
}

func soft(c *model.SpreadConstraint) { c.Hard = false }

const skewed = " PodTopologySpread (U): node(s) didn't match pod topology spread constraints"

func TestHardSpread(t *testing.T) {
	terminating := func(p *model.Pod) { p.Deleting = true }
	inOtherNamespace := func(p *model.Pod) { p.Namespace = "other" }
	minDomains := func(c *model.SpreadConstraint) { c.MinDomains = 3 }
	everything := func(c *model.SpreadConstraint) { c.Selector = &model.Selector{} }
	skew2 := func(c *model.SpreadConstraint) { c.MaxSkew = 2 }
	existing := []any{build.Pod("x", build.OnNode("a"), build.App("web"))}
	for name, tc := range map[string]struct {
		pods []any
		c    model.SpreadConstraint
		pod  build.PodOption
		want string
	}{
		"an empty cluster accepts the first pod":      {nil, overZones(), build.App("web"), ""},
		"the domain with more pods is rejected":       {existing, overZones(), build.App("web"), "a" + skewed},
		"a pod that the selector does not match fits": {existing, overZones(), build.App("db"), ""},
		"maxSkew 2":                                        {existing, overZones(skew2), build.App("web"), ""},
		"terminating pods do not count":                    {[]any{build.Pod("x", build.OnNode("a"), build.App("web"), terminating)}, overZones(), build.App("web"), ""},
		"pods of other namespaces do not count":            {[]any{build.Pod("x", build.OnNode("a"), build.App("web"), inOtherNamespace)}, overZones(), build.App("web"), ""},
		"too few domains put the minimum at 0":             {append(existing, build.Pod("y", build.OnNode("b"), build.App("web"))), overZones(minDomains), build.App("web"), "a" + skewed + "; b" + skewed},
		"a selector that matches everything counts no pod": {existing, overZones(everything), build.App("web"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := build.NewState(append(tc.pods, build.Node("a", build.Zone("z1")), build.Node("b", build.Zone("z2")))...)
			build.Expect(t, "verdicts", build.Verdicts(decide(t, s, build.Pod("p", tc.pod, spreads(tc.c)))), tc.want)
		})
	}
	s := build.NewState(build.Node("a", build.Zone("z1")), build.Node("b"))
	build.Expect(t, "a node without the label", build.Verdicts(decide(t, s, build.Pod("p", build.App("web"), spreads(overZones())))),
		"b PodTopologySpread (UAU): node(s) didn't match pod topology spread constraints (missing required label)")
	r := decide(t, build.NewState(append(existing, build.Node("a", build.Zone("z1")), build.Node("b", build.Zone("z2")))...), build.Pod("p", build.App("web"), spreads(overZones())))
	if got, want := r.Nodes[0].Verdict.Reasons[0], (decision.Reason{Kind: decision.ReasonTopologySpread, Subject: "zone", Want: 1, Used: 1, Have: 0, Object: "z1"}); got != want {
		t.Errorf("reason %+v, want %+v", got, want)
	}
}

func TestNodeInclusionPolicies(t *testing.T) {
	ignoreAffinity := func(c *model.SpreadConstraint) { c.IgnoreAffinity = true }
	honorTaints := func(c *model.SpreadConstraint) { c.HonorTaints = true }
	inPool := build.Spec(func(s *model.PodSpec) { s.NodeSelector.Labels = model.Labels{{Key: "pool", Value: "x"}} })
	pool := build.Labeled("pool", "x")
	web := []any{build.Pod("x", build.OnNode("a"), build.App("web")), build.Pod("y", build.OnNode("b"), build.App("web"))}
	const outside = "c NodeAffinity (UAU): node(s) didn't match Pod's node affinity/selector"
	const taint = "c TaintToleration (UAU): node(s) had untolerated taint(s)"
	for name, tc := range map[string]struct {
		c    model.SpreadConstraint
		pod  build.PodOption
		node build.NodeOption // of node c, which has no pods
		want string
	}{
		"nodeAffinityPolicy Honor":  {overZones(), inPool, build.Zone("z3"), outside},
		"nodeAffinityPolicy Ignore": {overZones(ignoreAffinity), inPool, build.Zone("z3"), "a" + skewed + "; b" + skewed + "; " + outside},
		"nodeTaintsPolicy Ignore":   {overZones(), build.App("web"), func(n *model.Node) { build.Zone("z3")(n); build.Tainted("t", "", model.NoSchedule)(n) }, "a" + skewed + "; b" + skewed + "; " + taint},
		"nodeTaintsPolicy Honor":    {overZones(honorTaints), build.App("web"), func(n *model.Node) { build.Zone("z3")(n); build.Tainted("t", "", model.NoSchedule)(n) }, taint},
	} {
		t.Run(name, func(t *testing.T) {
			s := build.NewState(append(web, build.Node("a", build.Zone("z1"), pool), build.Node("b", build.Zone("z2"), pool), build.Node("c", tc.node))...)
			build.Expect(t, "verdicts", build.Verdicts(decide(t, s, build.Pod("p", build.App("web"), tc.pod, spreads(tc.c)))), tc.want)
		})
	}
}

func TestMatchLabelKeysRestrictSelector(t *testing.T) {
	version := func(v string) build.PodOption {
		return func(p *model.Pod) { p.Labels = model.Labels{{Key: "app", Value: "web"}, {Key: "version", Value: v}} }
	}
	keys := func(c *model.SpreadConstraint) { c.MatchLabelKeys = []string{"version", "missing"} }
	s := build.NewState(build.Node("a", build.Zone("z1")), build.Node("b", build.Zone("z2")), build.Pod("x", build.OnNode("a"), version("1")))
	build.Expect(t, "same version", build.Verdicts(decide(t, s, build.Pod("p", version("1"), spreads(overZones(keys))))), "a"+skewed)
	build.Expect(t, "next version", build.Verdicts(decide(t, s, build.Pod("p", version("2"), spreads(overZones(keys))))), "")
}

func TestSoftSpread(t *testing.T) {
	host := overZones(soft, func(c *model.SpreadConstraint) { c.TopologyKey = framework.HostnameKey })
	s := build.NewState(build.Node("a", build.Zone("z1")), build.Node("b", build.Zone("z1")), build.Node("c", build.Zone("z2")), build.Node("d"),
		build.Pod("x", build.OnNode("a"), build.App("web")), build.Pod("y", build.OnNode("a"), build.App("web")), build.Pod("z", build.OnNode("c"), build.App("web")))
	for name, tc := range map[string]struct {
		cs   []model.SpreadConstraint
		want string
	}{
		// 2 and 1 pods times ln 4: 3 and 1.
		"zones with fewer pods score higher, nodes without a zone 0": {[]model.SpreadConstraint{overZones(soft)}, "a=66 b=66 c=200 d=0"},
		// 2, 0, 1 and 0 pods on four hosts times ln 6: 4, 0, 2 and 0.
		"each host is a domain": {[]model.SpreadConstraint{host}, "a=0 b=200 c=100 d=200"},
		// Three nodes have both keys, so the weight of the hostname key is ln 5.
		"several constraints add up": {[]model.SpreadConstraint{overZones(soft), host}, "a=100 b=200 c=200 d=0"},
	} {
		t.Run(name, func(t *testing.T) {
			build.Expect(t, "points", build.Points(decide(t, s, build.Pod("p", build.App("web"), spreads(tc.cs...))), decision.PodTopologySpread), tc.want)
		})
	}
	build.Expect(t, "without pods all nodes have the maximum", build.Points(decide(t, build.NewState(build.Node("a", build.Zone("z1"))), build.Pod("p", build.App("web"), spreads(overZones(soft)))), decision.PodTopologySpread), "a=200")
	build.Expect(t, "without constraints nothing is scored", build.Points(decide(t, s, build.Pod("p", build.App("web"))), decision.PodTopologySpread), "")
}

func TestDefaultConstraints(t *testing.T) {
	owned := func(kind, version string) build.PodOption {
		return func(p *model.Pod) { p.Owner = model.Owner{APIVersion: version, Kind: kind, Name: "g", UID: "u"} }
	}
	for name, tc := range map[string]struct {
		group  model.SpreadGroup
		pod    build.PodOption
		scored bool
	}{
		"a matching Service":                   {model.SpreadGroup{Kind: "Service", Namespace: "default", Name: "s", Selector: build.Matches("app", "web")}, build.App("web"), true},
		"a Service that does not match":        {model.SpreadGroup{Kind: "Service", Namespace: "default", Name: "s", Selector: build.Matches("app", "db")}, build.App("web"), false},
		"a Service without a selector":         {model.SpreadGroup{Kind: "Service", Namespace: "default", Name: "s"}, build.App("web"), false},
		"a Service of another namespace":       {model.SpreadGroup{Kind: "Service", Namespace: "other", Name: "s", Selector: build.Matches("app", "web")}, build.App("web"), false},
		"ReplicaSet of the pod":                {model.SpreadGroup{Kind: "ReplicaSet", Namespace: "default", Name: "g", Selector: build.Matches("app", "web")}, owned("ReplicaSet", "apps/v1"), true},
		"ReplicationController of the pod":     {model.SpreadGroup{Kind: "ReplicationController", Namespace: "default", Name: "g", Selector: build.Matches("app", "web")}, owned("ReplicationController", "v1"), true},
		"ReplicaSet of another API group":      {model.SpreadGroup{Kind: "ReplicaSet", Namespace: "default", Name: "g", Selector: build.Matches("app", "web")}, owned("ReplicaSet", "extensions/v1beta1"), false},
		"ReplicaSet that does not own the pod": {model.SpreadGroup{Kind: "ReplicaSet", Namespace: "default", Name: "h", Selector: build.Matches("app", "web")}, owned("ReplicaSet", "apps/v1"), false},
	} {
		t.Run(name, func(t *testing.T) {
			// A node without a zone label counts in kube-scheduler's default constraints and scores
			// higher. a is 1 * ln 4 + 2 = 3; b is 2 for its host and 4 for its zone.
			want := map[bool]string{true: "a=200 b=100", false: ""}[tc.scored]
			r := decide(t, build.NewState(build.Node("a"), build.Node("b", build.Labeled(framework.ZoneKey, "z")), tc.group, build.Pod("x", build.OnNode("a"), build.App("web"))), build.Pod("p", build.App("web"), tc.pod))
			build.Expect(t, "points", build.Points(r, decision.PodTopologySpread), want)
		})
	}
}

func TestHardDefaultConstraints(t *testing.T) {
	hardDefaults := func(c *framework.Config) {
		c.Spread = framework.SpreadArgs{DefaultConstraints: []model.SpreadConstraint{{TopologyKey: "zone", MaxSkew: 1, MinDomains: 1, Hard: true}}}
	}
	s := build.NewState(build.Node("a", build.Zone("z1")), build.Node("b", build.Zone("z2")), build.Node("c"), build.Pod("x", build.OnNode("a"), build.App("web")),
		model.SpreadGroup{Kind: "Service", Namespace: "default", Name: "s", Selector: build.Matches("app", "web")})
	r := decide(t, s, build.Pod("p", build.App("web")), hardDefaults)
	build.Expect(t, "verdicts", build.Verdicts(r), "a"+skewed+"; c PodTopologySpread (UAU): node(s) didn't match pod topology spread constraints (missing required label)")
	build.Expect(t, "the pod's constraints replace the defaults", build.Verdicts(decide(t, s, build.Pod("p", build.App("web"), spreads(overZones(soft))), hardDefaults)), "")
}

func TestMalformedSpreadSelectorFailsAttempt(t *testing.T) {
	s := build.NewState(build.Node("a", build.Zone("z1")), build.Node("b", build.Zone("z2")))
	malformed := func(kind model.ParseErrorKind) build.PodOption {
		return build.Spec(func(s *model.PodSpec) {
			s.ParseErrors = []model.ParseError{{Kind: kind, Message: "bad"}, {Kind: kind, Message: "worse"}}
		})
	}
	build.Expect(t, "hard", decide(t, s, build.Pod("p", malformed(model.ParseErrorHardSpread))).Error,
		`running PreFilter plugin "PodTopologySpread": get constraints from pod: obtaining pod's hard topology spread constraints: bad`)
	build.Expect(t, "soft", decide(t, s, build.Pod("p", malformed(model.ParseErrorSoftSpread))).Error,
		`running PreScore plugin "PodTopologySpread": calculating preScoreState: obtaining pod's soft topology spread constraints: bad`)
}

func TestNominatedPodsCountInTopologySpread(t *testing.T) {
	hard := func(sel *model.Selector) build.PodOption {
		return build.Spec(func(s *model.PodSpec) {
			s.Spread = []model.SpreadConstraint{{TopologyKey: framework.HostnameKey, MaxSkew: 1, MinDomains: 1, Hard: true, Selector: sel}}
		})
	}
	nominated := func(p *model.Pod) { p.NominatedNodeName = "a" }
	const full = "a PodTopologySpread (U): node(s) didn't match pod topology spread constraints"
	for name, tc := range map[string]struct {
		other *model.Pod
		sel   *model.Selector
		want  string
	}{
		"terminating":                          {build.Pod("q", build.App("web"), nominated, func(p *model.Pod) { p.Deleting = true }), build.Matches("app", "web"), full},
		"selector that matches everything":     {build.Pod("q", build.App("web"), nominated), &model.Selector{}, full},
		"pod that the selector does not match": {build.Pod("q", build.App("db"), nominated), build.Matches("app", "web"), ""},
		"with a scheduling gate":               {build.Pod("q", build.App("web"), nominated, build.Spec(func(s *model.PodSpec) { s.Gates = []string{"g"} })), build.Matches("app", "web"), ""},
		"with a device claim": {build.Pod("q", build.App("web"), nominated, build.Spec(func(s *model.PodSpec) { s.ResourceClaims = []model.PodResourceClaim{{Claim: "c"}} })),
			build.Matches("app", "web"), ""},
	} {
		s := build.NewState(build.Node("a"), build.Node("b"), tc.other)
		build.Expect(t, name, build.Verdicts(decide(t, s, build.Pod("p", build.App("web"), hard(tc.sel)))), tc.want)
	}
}
