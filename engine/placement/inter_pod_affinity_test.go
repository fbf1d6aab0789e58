package placement

import (
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

func near(key, value string, change ...func(*model.PodAffinityTerm)) model.PodAffinityTerm {
	t := model.PodAffinityTerm{TopologyKey: key, Selector: matches("app", value), Namespaces: []string{"default"}}
	for _, f := range change {
		f(&t)
	}
	return t
}

func with(terms ...model.PodAffinityTerm) podOption {
	return spec(func(s *model.PodSpec) { s.Affinity = terms })
}

func without(terms ...model.PodAffinityTerm) podOption {
	return spec(func(s *model.PodSpec) { s.AntiAffinity = terms })
}

func in(namespace string) podOption { return func(p *model.Pod) { p.Namespace = namespace } }

const (
	farOff   = " InterPodAffinity (UAU): node(s) didn't match pod affinity rules"
	tooNear  = " InterPodAffinity (U): node(s) didn't match pod anti-affinity rules"
	unwanted = " InterPodAffinity (U): node(s) didn't satisfy existing pods anti-affinity rules"
)

func TestInterPodAffinity(t *testing.T) {
	nowhere := func(t *model.PodAffinityTerm) { t.Selector = nil }
	zones := []any{node("a", zone("z1")), node("b", zone("z2")), node("c")}
	for name, tc := range map[string]struct {
		there *model.Pod
		pod   podOption
		want  string
	}{
		"affinity reaches the whole domain only":            {pod("x", onNode("a"), app("db")), with(near("zone", "db")), "b" + farOff + "; c" + farOff},
		"it needs pods":                                     {pod("x", onNode("a")), with(near("zone", "db")), "a" + farOff + "; b" + farOff + "; c" + farOff},
		"the first of its own kind may go to any domain":    {pod("x", onNode("a")), with(near("zone", "web")), "c" + farOff},
		"but not once there is one":                         {pod("x", onNode("a"), app("web")), with(near("zone", "web")), "b" + farOff + "; c" + farOff},
		"one on a node without the key does not count":      {pod("x", onNode("c"), app("web")), with(near("zone", "web")), "c" + farOff},
		"a pod must match all terms":                        {pod("x", onNode("a"), app("db")), with(near("zone", "db"), near(HostnameKey, "web")), "a" + farOff + "; b" + farOff + "; c" + farOff},
		"anti-affinity keeps off the domain":                {pod("x", onNode("a"), app("db")), without(near("zone", "db")), "a" + tooNear},
		"nodes without the key are free":                    {pod("x", onNode("c"), app("db")), without(near("zone", "db")), ""},
		"the anti-affinity of others counts as well":        {pod("x", onNode("b"), without(near("zone", "web"))), app("web"), "b" + unwanted},
		"unless it means others":                            {pod("x", onNode("b"), without(near("zone", "db"))), app("web"), ""},
		"a term without selector matches nobody":            {pod("x", onNode("a"), app("db")), without(near("zone", "db", nowhere)), ""},
		"affinity is looked at before anti-affinity":        {pod("x", onNode("a"), app("db")), func(p *model.Pod) { with(near("zone", "z"))(p); without(near("zone", "db"))(p) }, "a" + farOff + "; b" + farOff + "; c" + farOff},
		"own anti-affinity is looked at before the other's": {pod("x", onNode("a"), app("db"), without(near("zone", "web"))), without(near("zone", "db")), "a" + tooNear},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "verdicts", verdicts(decide(t, newState(append(zones, tc.there)...), pod("p", app("web"), tc.pod))), tc.want)
		})
	}
	r := decide(t, newState(append(zones, pod("x", onNode("b"), without(near("zone", "web"))))...), pod("p", app("web")))
	if got, want := r.Nodes[1].Verdict.Reasons[0], (decision.Reason{Kind: decision.ReasonExistingAntiAffinity, Subject: "zone", Used: 1, Object: "default/x"}); got != want {
		t.Errorf("numbers are %+v, want %+v", got, want)
	}
}

func TestInterPodAffinityAcrossNamespaces(t *testing.T) {
	names := func(ns ...string) func(*model.PodAffinityTerm) {
		return func(t *model.PodAffinityTerm) { t.Namespaces = ns }
	}
	selects := func(s *model.Selector) func(*model.PodAffinityTerm) {
		return func(t *model.PodAffinityTerm) { t.Namespaces, t.NamespaceSelector = nil, s }
	}
	notTeam := &model.Selector{Requirements: []model.Requirement{{Key: "team", Op: model.DoesNotExist}}}
	for name, tc := range map[string]struct {
		there *model.Pod
		own   podOption
		want  string
	}{
		"another namespace does not count":         {pod("x", onNode("a"), app("db"), in("red")), without(near("zone", "db")), ""},
		"a named one does":                         {pod("x", onNode("a"), app("db"), in("red")), without(near("zone", "db", names("red"))), "a" + tooNear},
		"one with the labels does":                 {pod("x", onNode("a"), app("db"), in("red")), without(near("zone", "db", selects(matches("team", "r")))), "a" + tooNear},
		"one without them does not":                {pod("x", onNode("a"), app("db"), in("default")), without(near("zone", "db", selects(matches("team", "r")))), ""},
		"an empty selector means all, known or no": {pod("x", onNode("a"), app("db"), in("gone")), without(near("zone", "db", selects(&model.Selector{}))), "a" + tooNear},
		"as does one that no labels meet":          {pod("x", onNode("a"), app("db"), in("gone")), without(near("zone", "db", selects(notTeam))), "a" + tooNear},
		"even where there are labels":              {pod("x", onNode("a"), app("db"), in("red")), without(near("zone", "db", selects(notTeam))), "a" + tooNear},
		"no other selector finds unknown ones":     {pod("x", onNode("a"), app("db"), in("gone")), without(near("zone", "db", selects(matches("team", "r")))), ""},
		"the others' selectors look at the pod's":  {pod("x", onNode("a"), in("red"), without(near("zone", "web", selects(notTeam)))), app("web"), "a" + unwanted},
		"and at what it is called":                 {pod("x", onNode("a"), in("red"), without(near("zone", "web", names("red")))), app("web"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newState(node("a", zone("z1")), node("b", zone("z2")), model.Namespace{Name: "default"},
				model.Namespace{Name: "red", Labels: model.Labels{{Key: "team", Value: "r"}}}, tc.there)
			expect(t, "verdicts", verdicts(decide(t, s, pod("p", app("web"), tc.own))), tc.want)
		})
	}
}

func TestMalformedAffinityRefusesAllNodes(t *testing.T) {
	p := pod("p", spec(func(s *model.PodSpec) {
		s.ParseErrors = []model.ParseError{{Kind: model.ParseErrorPodAffinity, Message: "requiredAffinityTerms: x"}, {Kind: model.ParseErrorPodAffinity, Message: "y"}}
	}))
	r := decide(t, newState(node("a")), p)
	if r.PreFilter == nil || r.PreFilter.Plugin != decision.InterPodAffinity || r.PreFilter.Code != decision.UnschedulableAndUnresolvable || r.Nodes != nil {
		t.Fatalf("record is %+v", r)
	}
	expect(t, "reason", decision.JoinReasons(r.PreFilter.Reasons), "parsing pod: [requiredAffinityTerms: x, y]")
}

func TestInterPodScore(t *testing.T) {
	prefers := func(w int32, t model.PodAffinityTerm) podOption {
		return spec(func(s *model.PodSpec) {
			s.PreferredAffinity = append(s.PreferredAffinity, model.WeightedPodAffinityTerm{Weight: w, Term: t})
		})
	}
	avoids := func(w int32, t model.PodAffinityTerm) podOption {
		return spec(func(s *model.PodSpec) {
			s.PreferredAntiAffinity = append(s.PreferredAntiAffinity, model.WeightedPodAffinityTerm{Weight: w, Term: t})
		})
	}
	zones := []any{node("a", zone("z1")), node("b", zone("z2")), node("c")}
	hard := func(w int64) func(*Config) { return func(c *Config) { c.InterPod.HardPodAffinityWeight = w } }
	ignore := func(c *Config) { c.InterPod.IgnorePreferredTermsOfExistingPods = true }
	for name, tc := range map[string]struct {
		there  []any
		pod    podOption
		config func(*Config)
		want   string
	}{
		"preferred company draws":                 {[]any{pod("x", onNode("a"), app("db"))}, prefers(5, near("zone", "db")), hard(1), "a=200 b=0 c=0"},
		"each pod counts":                         {[]any{pod("x", onNode("a"), app("db")), pod("y", onNode("a"), app("db")), pod("z", onNode("b"), app("db"))}, prefers(5, near("zone", "db")), hard(1), "a=200 b=100 c=0"},
		"avoided company puts off":                {[]any{pod("x", onNode("a"), app("db"))}, avoids(5, near("zone", "db")), hard(1), "a=0 b=200 c=200"},
		"what others prefer counts":               {[]any{pod("x", onNode("a"), prefers(3, near("zone", "web")))}, app("web"), hard(1), "a=200 b=0 c=0"},
		"what others avoid counts":                {[]any{pod("x", onNode("a"), avoids(3, near("zone", "web")))}, app("web"), hard(1), "a=0 b=200 c=200"},
		"what others require counts":              {[]any{pod("x", onNode("a"), with(near("zone", "web"))), pod("y", onNode("b"), prefers(2, near("zone", "web")))}, app("web"), hard(1), "a=100 b=200 c=0"},
		"by the profile's weight":                 {[]any{pod("x", onNode("a"), with(near("zone", "web"))), pod("y", onNode("b"), prefers(2, near("zone", "web")))}, app("web"), hard(4), "a=200 b=100 c=0"},
		"not with weight 0":                       {[]any{pod("x", onNode("a"), with(near("zone", "web")))}, app("web"), hard(0), ""},
		"nothing to say, nothing scored":          {[]any{pod("x", onNode("a"), app("db"))}, app("web"), hard(1), ""},
		"others' preferences can be ignored":      {[]any{pod("x", onNode("a"), prefers(3, near("zone", "web")))}, app("web"), ignore, ""},
		"but not for pods with some of their own": {[]any{pod("x", onNode("a"), prefers(3, near("zone", "web")))}, prefers(1, near("zone", "no")), ignore, "a=200 b=0 c=0"},
		"sums that cancel out are still scored":   {[]any{pod("x", onNode("a"), app("db"))}, func(p *model.Pod) { prefers(2, near("zone", "db"))(p); avoids(2, near("zone", "db"))(p) }, hard(1), "a=0 b=0 c=0"},
	} {
		t.Run(name, func(t *testing.T) {
			r := decide(t, newState(append(tc.there, zones...)...), pod("p", app("web"), tc.pod), tc.config)
			expect(t, "points", points(r, decision.InterPodAffinity), tc.want)
		})
	}
}
