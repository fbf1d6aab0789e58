package placement

import (
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

func spreads(cs ...model.SpreadConstraint) podOption {
	return spec(func(s *model.PodSpec) { s.Spread = cs })
}

func overZones(change ...func(*model.SpreadConstraint)) model.SpreadConstraint {
	c := model.SpreadConstraint{TopologyKey: "zone", MaxSkew: 1, MinDomains: 1, Hard: true, Selector: matches("app", "web")}
	for _, f := range change {
		f(&c)
	}
	return c
}

func soft(c *model.SpreadConstraint) { c.Hard = false }

const skewed = " PodTopologySpread (U): node(s) didn't match pod topology spread constraints"

func TestHardSpread(t *testing.T) {
	dying := func(p *model.Pod) { p.Deleting = true }
	elsewhere := func(p *model.Pod) { p.Namespace = "other" }
	minDomains := func(c *model.SpreadConstraint) { c.MinDomains = 3 }
	everything := func(c *model.SpreadConstraint) { c.Selector = &model.Selector{} }
	skew2 := func(c *model.SpreadConstraint) { c.MaxSkew = 2 }
	one := []any{pod("x", onNode("a"), app("web"))}
	for name, tc := range map[string]struct {
		pods []any
		c    model.SpreadConstraint
		pod  podOption
		want string
	}{
		"an empty cluster takes the first":       {nil, overZones(), app("web"), ""},
		"the fuller domain is refused":           {one, overZones(), app("web"), "a" + skewed},
		"a pod that does not count itself may":   {one, overZones(), app("db"), ""},
		"maxSkew 2 bears one more":               {one, overZones(skew2), app("web"), ""},
		"terminating pods do not count":          {[]any{pod("x", onNode("a"), app("web"), dying)}, overZones(), app("web"), ""},
		"pods of other namespaces do not count":  {[]any{pod("x", onNode("a"), app("web"), elsewhere)}, overZones(), app("web"), ""},
		"too few domains put the minimum at 0":   {append(one, pod("y", onNode("b"), app("web"))), overZones(minDomains), app("web"), "a" + skewed + "; b" + skewed},
		"a selector of everything counts nobody": {one, overZones(everything), app("web"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newState(append(tc.pods, node("a", zone("z1")), node("b", zone("z2")))...)
			expect(t, "verdicts", verdicts(decide(t, s, pod("p", tc.pod, spreads(tc.c)))), tc.want)
		})
	}
	s := newState(node("a", zone("z1")), node("b"))
	expect(t, "a node without the label", verdicts(decide(t, s, pod("p", app("web"), spreads(overZones())))),
		"b PodTopologySpread (UAU): node(s) didn't match pod topology spread constraints (missing required label)")
	r := decide(t, newState(append(one, node("a", zone("z1")), node("b", zone("z2")))...), pod("p", app("web"), spreads(overZones())))
	if got, want := r.Nodes[0].Verdict.Reasons[0], (decision.Reason{Kind: decision.ReasonTopologySpread, Subject: "zone", Want: 1, Used: 1, Have: 0, Object: "z1"}); got != want {
		t.Errorf("numbers are %+v, want %+v", got, want)
	}
}

func TestNodeInclusionPolicies(t *testing.T) {
	ignoreAffinity := func(c *model.SpreadConstraint) { c.IgnoreAffinity = true }
	honorTaints := func(c *model.SpreadConstraint) { c.HonorTaints = true }
	inAB := spec(func(s *model.PodSpec) { s.NodeSelector.Labels = model.Labels{{Key: "pool", Value: "x"}} })
	pool := labelled("pool", "x")
	web := []any{pod("x", onNode("a"), app("web")), pod("y", onNode("b"), app("web"))}
	const outside = "c NodeAffinity (UAU): node(s) didn't match Pod's node affinity/selector"
	const taint = "c TaintToleration (UAU): node(s) had untolerated taint(s)"
	for name, tc := range map[string]struct {
		c    model.SpreadConstraint
		with podOption
		last nodeOption // of node c, which is empty
		want string
	}{
		"what the affinity refuses does not set the minimum": {overZones(), inAB, zone("z3"), outside},
		"unless it is to be ignored":                         {overZones(ignoreAffinity), inAB, zone("z3"), "a" + skewed + "; b" + skewed + "; " + outside},
		"what taints refuse sets the minimum":                {overZones(), app("web"), func(n *model.Node) { zone("z3")(n); tainted("t", "", model.NoSchedule)(n) }, "a" + skewed + "; b" + skewed + "; " + taint},
		"unless taints are to be honoured":                   {overZones(honorTaints), app("web"), func(n *model.Node) { zone("z3")(n); tainted("t", "", model.NoSchedule)(n) }, taint},
	} {
		t.Run(name, func(t *testing.T) {
			s := newState(append(web, node("a", zone("z1"), pool), node("b", zone("z2"), pool), node("c", tc.last))...)
			expect(t, "verdicts", verdicts(decide(t, s, pod("p", app("web"), tc.with, spreads(tc.c)))), tc.want)
		})
	}
}

func TestMatchLabelKeysNarrowTheSelector(t *testing.T) {
	version := func(v string) podOption {
		return func(p *model.Pod) { p.Labels = model.Labels{{Key: "app", Value: "web"}, {Key: "version", Value: v}} }
	}
	keys := func(c *model.SpreadConstraint) { c.MatchLabelKeys = []string{"version", "missing"} }
	s := newState(node("a", zone("z1")), node("b", zone("z2")), pod("x", onNode("a"), version("1")))
	expect(t, "same version", verdicts(decide(t, s, pod("p", version("1"), spreads(overZones(keys))))), "a"+skewed)
	expect(t, "next version", verdicts(decide(t, s, pod("p", version("2"), spreads(overZones(keys))))), "")
}

func TestSoftSpread(t *testing.T) {
	host := overZones(soft, func(c *model.SpreadConstraint) { c.TopologyKey = HostnameKey })
	s := newState(node("a", zone("z1")), node("b", zone("z1")), node("c", zone("z2")), node("d"),
		pod("x", onNode("a"), app("web")), pod("y", onNode("a"), app("web")), pod("z", onNode("c"), app("web")))
	for name, tc := range map[string]struct {
		cs   []model.SpreadConstraint
		want string
	}{
		// 2 and 1 pods times ln 4: 3 and 1.
		"emptier zones score more, without a zone 0": {[]model.SpreadConstraint{overZones(soft)}, "a=66 b=66 c=200 d=0"},
		// Two feasible sets of four hosts: 2, 0, 1 and 0 times ln 6: 4, 0, 2, 0.
		"hosts count for themselves": {[]model.SpreadConstraint{host}, "a=0 b=200 c=100 d=200"},
		// Host weights are of the three nodes with both keys: ln 5.
		"several constraints add up": {[]model.SpreadConstraint{overZones(soft), host}, "a=100 b=200 c=200 d=0"},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "points", points(decide(t, s, pod("p", app("web"), spreads(tc.cs...))), decision.PodTopologySpread), tc.want)
		})
	}
	expect(t, "without pods all are best", points(decide(t, newState(node("a", zone("z1"))), pod("p", app("web"), spreads(overZones(soft)))), decision.PodTopologySpread), "a=200")
	expect(t, "without constraints nothing is scored", points(decide(t, s, pod("p", app("web"))), decision.PodTopologySpread), "")
}

func TestDefaultConstraints(t *testing.T) {
	owned := func(kind, version string) podOption {
		return func(p *model.Pod) { p.Owner = model.Owner{APIVersion: version, Kind: kind, Name: "g", UID: "u"} }
	}
	for name, tc := range map[string]struct {
		group  model.SpreadGroup
		pod    podOption
		scored bool
	}{
		"a Service that selects it":            {model.SpreadGroup{Kind: "Service", Namespace: "default", Name: "s", Selector: matches("app", "web")}, app("web"), true},
		"not one that does not":                {model.SpreadGroup{Kind: "Service", Namespace: "default", Name: "s", Selector: matches("app", "db")}, app("web"), false},
		"not one without selector":             {model.SpreadGroup{Kind: "Service", Namespace: "default", Name: "s"}, app("web"), false},
		"not one of another namespace":         {model.SpreadGroup{Kind: "Service", Namespace: "other", Name: "s", Selector: matches("app", "web")}, app("web"), false},
		"its ReplicaSet":                       {model.SpreadGroup{Kind: "ReplicaSet", Namespace: "default", Name: "g", Selector: matches("app", "web")}, owned("ReplicaSet", "apps/v1"), true},
		"its ReplicationController":            {model.SpreadGroup{Kind: "ReplicationController", Namespace: "default", Name: "g", Selector: matches("app", "web")}, owned("ReplicationController", "v1"), true},
		"not a ReplicaSet of another API":      {model.SpreadGroup{Kind: "ReplicaSet", Namespace: "default", Name: "g", Selector: matches("app", "web")}, owned("ReplicaSet", "extensions/v1beta1"), false},
		"not a ReplicaSet that is not its own": {model.SpreadGroup{Kind: "ReplicaSet", Namespace: "default", Name: "h", Selector: matches("app", "web")}, owned("ReplicaSet", "apps/v1"), false},
	} {
		t.Run(name, func(t *testing.T) {
			// A node without a zone label takes part in kube-scheduler's own defaults,
			// and gains from it: a is 1 * ln 4 + 2 = 3, b is 2 for its host and 4 for its zone.
			want := map[bool]string{true: "a=200 b=100", false: ""}[tc.scored]
			r := decide(t, newState(node("a"), node("b", labelled(zoneKey, "z")), tc.group, pod("x", onNode("a"), app("web"))), pod("p", app("web"), tc.pod))
			expect(t, "points", points(r, decision.PodTopologySpread), want)
		})
	}
}

func TestListedDefaultsCanBeHard(t *testing.T) {
	listed := func(c *Config) {
		c.Spread = SpreadArgs{DefaultConstraints: []model.SpreadConstraint{{TopologyKey: "zone", MaxSkew: 1, MinDomains: 1, Hard: true}}}
	}
	s := newState(node("a", zone("z1")), node("b", zone("z2")), node("c"), pod("x", onNode("a"), app("web")),
		model.SpreadGroup{Kind: "Service", Namespace: "default", Name: "s", Selector: matches("app", "web")})
	r := decide(t, s, pod("p", app("web")), listed)
	expect(t, "verdicts", verdicts(r), "a"+skewed+"; c PodTopologySpread (UAU): node(s) didn't match pod topology spread constraints (missing required label)")
	expect(t, "own constraints come instead", verdicts(decide(t, s, pod("p", app("web"), spreads(overZones(soft))), listed)), "")
}

func TestMalformedSpreadSelectorsFailTheAttempt(t *testing.T) {
	s := newState(node("a", zone("z1")), node("b", zone("z2")))
	fault := func(where model.ParseErrorKind) podOption {
		return spec(func(s *model.PodSpec) {
			s.ParseErrors = []model.ParseError{{Kind: where, Message: "bad"}, {Kind: where, Message: "worse"}}
		})
	}
	expect(t, "hard", decide(t, s, pod("p", fault(model.ParseErrorHardSpread))).Error,
		`running PreFilter plugin "PodTopologySpread": get constraints from pod: obtaining pod's hard topology spread constraints: bad`)
	expect(t, "soft", decide(t, s, pod("p", fault(model.ParseErrorSoftSpread))).Error,
		`running PreScore plugin "PodTopologySpread": calculating preScoreState: obtaining pod's soft topology spread constraints: bad`)
}

func TestNominatedPodsCountInSpreadAsTheyAre(t *testing.T) {
	hard := func(sel *model.Selector) podOption {
		return spec(func(s *model.PodSpec) {
			s.Spread = []model.SpreadConstraint{{TopologyKey: HostnameKey, MaxSkew: 1, MinDomains: 1, Hard: true, Selector: sel}}
		})
	}
	nominated := func(p *model.Pod) { p.NominatedNodeName = "a" }
	const full = "a PodTopologySpread (U): node(s) didn't match pod topology spread constraints"
	for name, tt := range map[string]struct {
		other *model.Pod
		sel   *model.Selector
		want  string
	}{
		"on its way out": {pod("q", app("web"), nominated, func(p *model.Pod) { p.Deleting = true }), matches("app", "web"), full},
		"any pod":        {pod("q", app("web"), nominated), &model.Selector{}, full},
		"another":        {pod("q", app("db"), nominated), matches("app", "web"), ""},
		"held by a gate": {pod("q", app("web"), nominated, spec(func(s *model.PodSpec) { s.Gates = []string{"g"} })), matches("app", "web"), ""},
		"held by a device claim": {pod("q", app("web"), nominated, spec(func(s *model.PodSpec) { s.ResourceClaims = []model.PodResourceClaim{{Claim: "c"}} })),
			matches("app", "web"), ""},
	} {
		s := newState(node("a"), node("b"), tt.other)
		expect(t, name, verdicts(decide(t, s, pod("p", app("web"), hard(tt.sel)))), tt.want)
	}
}
