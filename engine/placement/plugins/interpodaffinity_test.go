package plugins_test

import (
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/testkit/build"
)

func withAffinity(terms ...model.PodAffinityTerm) build.PodOption {
	return build.Spec(func(s *model.PodSpec) { s.Affinity = terms })
}

func withAntiAffinity(terms ...model.PodAffinityTerm) build.PodOption {
	return build.Spec(func(s *model.PodSpec) { s.AntiAffinity = terms })
}

const (
	noAffinity           = " InterPodAffinity (UAU): node(s) didn't match pod affinity rules"
	antiAffinity         = " InterPodAffinity (U): node(s) didn't match pod anti-affinity rules"
	existingAntiAffinity = " InterPodAffinity (U): node(s) didn't satisfy existing pods anti-affinity rules"
)

func TestInterPodAffinity(t *testing.T) {
	withoutSelector := func(t *model.PodAffinityTerm) { t.Selector = nil }
	zones := []any{build.Node("a", build.Zone("z1")), build.Node("b", build.Zone("z2")), build.Node("c")}
	for name, tc := range map[string]struct {
		existing *model.Pod
		pod      build.PodOption
		want     string
	}{
		"affinity covers the whole domain, and only that":      {build.Pod("x", build.OnNode("a"), build.App("db")), withAffinity(build.PodAffinityTerm("zone", "db")), "b" + noAffinity + "; c" + noAffinity},
		"affinity needs a matching pod":                        {build.Pod("x", build.OnNode("a")), withAffinity(build.PodAffinityTerm("zone", "db")), "a" + noAffinity + "; b" + noAffinity + "; c" + noAffinity},
		"the first pod of a self-affine group fits any domain": {build.Pod("x", build.OnNode("a")), withAffinity(build.PodAffinityTerm("zone", "web")), "c" + noAffinity},
		"self-affinity with a matching pod":                    {build.Pod("x", build.OnNode("a"), build.App("web")), withAffinity(build.PodAffinityTerm("zone", "web")), "b" + noAffinity + "; c" + noAffinity},
		"pod on a node without the key":                        {build.Pod("x", build.OnNode("c"), build.App("web")), withAffinity(build.PodAffinityTerm("zone", "web")), "c" + noAffinity},
		"a pod must match all terms":                           {build.Pod("x", build.OnNode("a"), build.App("db")), withAffinity(build.PodAffinityTerm("zone", "db"), build.PodAffinityTerm(framework.HostnameKey, "web")), "a" + noAffinity + "; b" + noAffinity + "; c" + noAffinity},
		"anti-affinity excludes the domain":                    {build.Pod("x", build.OnNode("a"), build.App("db")), withAntiAffinity(build.PodAffinityTerm("zone", "db")), "a" + antiAffinity},
		"nodes without the key are not excluded":               {build.Pod("x", build.OnNode("c"), build.App("db")), withAntiAffinity(build.PodAffinityTerm("zone", "db")), ""},
		"anti-affinity of existing pods counts as well":        {build.Pod("x", build.OnNode("b"), withAntiAffinity(build.PodAffinityTerm("zone", "web"))), build.App("web"), "b" + existingAntiAffinity},
		"anti-affinity of existing pods to other pods":         {build.Pod("x", build.OnNode("b"), withAntiAffinity(build.PodAffinityTerm("zone", "db"))), build.App("web"), ""},
		"a term without selector matches no pod":               {build.Pod("x", build.OnNode("a"), build.App("db")), withAntiAffinity(build.PodAffinityTerm("zone", "db", withoutSelector)), ""},
		"affinity is checked before anti-affinity": {build.Pod("x", build.OnNode("a"), build.App("db")), func(p *model.Pod) {
			withAffinity(build.PodAffinityTerm("zone", "z"))(p)
			withAntiAffinity(build.PodAffinityTerm("zone", "db"))(p)
		}, "a" + noAffinity + "; b" + noAffinity + "; c" + noAffinity},
		"the pod's anti-affinity is checked before that of existing pods": {build.Pod("x", build.OnNode("a"), build.App("db"), withAntiAffinity(build.PodAffinityTerm("zone", "web"))), withAntiAffinity(build.PodAffinityTerm("zone", "db")), "a" + antiAffinity},
	} {
		t.Run(name, func(t *testing.T) {
			build.Expect(t, "verdicts", build.Verdicts(decide(t, build.NewState(append(zones, tc.existing)...), build.Pod("p", build.App("web"), tc.pod))), tc.want)
		})
	}
	r := decide(t, build.NewState(append(zones, build.Pod("x", build.OnNode("b"), withAntiAffinity(build.PodAffinityTerm("zone", "web"))))...), build.Pod("p", build.App("web")))
	if got, want := r.Nodes[1].Verdict.Reasons[0], (decision.Reason{Kind: decision.ReasonExistingAntiAffinity, Subject: "zone", Used: 1, Object: "default/x"}); got != want {
		t.Errorf("reason %+v, want %+v", got, want)
	}
}

func TestInterPodAffinityAcrossNamespaces(t *testing.T) {
	byName := func(ns ...string) func(*model.PodAffinityTerm) {
		return func(t *model.PodAffinityTerm) { t.Namespaces = ns }
	}
	bySelector := func(s *model.Selector) func(*model.PodAffinityTerm) {
		return func(t *model.PodAffinityTerm) { t.Namespaces, t.NamespaceSelector = nil, s }
	}
	notTeam := &model.Selector{Requirements: []model.Requirement{{Key: "team", Op: model.DoesNotExist}}}
	for name, tc := range map[string]struct {
		existing *model.Pod
		option   build.PodOption
		want     string
	}{
		"another namespace does not count":                                {build.Pod("x", build.OnNode("a"), build.App("db"), build.InNamespace("red")), withAntiAffinity(build.PodAffinityTerm("zone", "db")), ""},
		"namespace by name":                                               {build.Pod("x", build.OnNode("a"), build.App("db"), build.InNamespace("red")), withAntiAffinity(build.PodAffinityTerm("zone", "db", byName("red"))), "a" + antiAffinity},
		"namespace by labels":                                             {build.Pod("x", build.OnNode("a"), build.App("db"), build.InNamespace("red")), withAntiAffinity(build.PodAffinityTerm("zone", "db", bySelector(build.Matches("team", "r")))), "a" + antiAffinity},
		"namespace without the labels":                                    {build.Pod("x", build.OnNode("a"), build.App("db"), build.InNamespace("default")), withAntiAffinity(build.PodAffinityTerm("zone", "db", bySelector(build.Matches("team", "r")))), ""},
		"an empty selector selects all namespaces, known or not":          {build.Pod("x", build.OnNode("a"), build.App("db"), build.InNamespace("unknown")), withAntiAffinity(build.PodAffinityTerm("zone", "db", bySelector(&model.Selector{}))), "a" + antiAffinity},
		"a selector that matches empty labels selects unknown namespaces": {build.Pod("x", build.OnNode("a"), build.App("db"), build.InNamespace("unknown")), withAntiAffinity(build.PodAffinityTerm("zone", "db", bySelector(notTeam))), "a" + antiAffinity},
		"a selector that matches empty labels selects all namespaces":     {build.Pod("x", build.OnNode("a"), build.App("db"), build.InNamespace("red")), withAntiAffinity(build.PodAffinityTerm("zone", "db", bySelector(notTeam))), "a" + antiAffinity},
		"unknown namespace":                                               {build.Pod("x", build.OnNode("a"), build.App("db"), build.InNamespace("unknown")), withAntiAffinity(build.PodAffinityTerm("zone", "db", bySelector(build.Matches("team", "r")))), ""},
		"namespace by labels, in a term of an existing pod":               {build.Pod("x", build.OnNode("a"), build.InNamespace("red"), withAntiAffinity(build.PodAffinityTerm("zone", "web", bySelector(notTeam)))), build.App("web"), "a" + existingAntiAffinity},
		"another namespace by name, in a term of an existing pod":         {build.Pod("x", build.OnNode("a"), build.InNamespace("red"), withAntiAffinity(build.PodAffinityTerm("zone", "web", byName("red")))), build.App("web"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := build.NewState(build.Node("a", build.Zone("z1")), build.Node("b", build.Zone("z2")), model.Namespace{Name: "default"},
				model.Namespace{Name: "red", Labels: model.Labels{{Key: "team", Value: "r"}}}, tc.existing)
			build.Expect(t, "verdicts", build.Verdicts(decide(t, s, build.Pod("p", build.App("web"), tc.option))), tc.want)
		})
	}
}

func TestMalformedAffinityRejectsAllNodes(t *testing.T) {
	p := build.Pod("p", build.Spec(func(s *model.PodSpec) {
		s.ParseErrors = []model.ParseError{{Kind: model.ParseErrorPodAffinity, Message: "requiredAffinityTerms: x"}, {Kind: model.ParseErrorPodAffinity, Message: "y"}}
	}))
	r := decide(t, build.NewState(build.Node("a")), p)
	if r.PreFilter == nil || r.PreFilter.Plugin != decision.InterPodAffinity || r.PreFilter.Code != decision.UnschedulableAndUnresolvable || r.Nodes != nil {
		t.Fatalf("record %+v, want all nodes rejected by InterPodAffinity", r)
	}
	build.Expect(t, "reason", decision.JoinReasons(r.PreFilter.Reasons), "parsing pod: [requiredAffinityTerms: x, y]")
}

func TestInterPodScore(t *testing.T) {
	prefers := func(w int32, t model.PodAffinityTerm) build.PodOption {
		return build.Spec(func(s *model.PodSpec) {
			s.PreferredAffinity = append(s.PreferredAffinity, model.WeightedPodAffinityTerm{Weight: w, Term: t})
		})
	}
	avoids := func(w int32, t model.PodAffinityTerm) build.PodOption {
		return build.Spec(func(s *model.PodSpec) {
			s.PreferredAntiAffinity = append(s.PreferredAntiAffinity, model.WeightedPodAffinityTerm{Weight: w, Term: t})
		})
	}
	zones := []any{build.Node("a", build.Zone("z1")), build.Node("b", build.Zone("z2")), build.Node("c")}
	hard := func(w int64) func(*framework.Config) {
		return func(c *framework.Config) { c.InterPod.HardPodAffinityWeight = w }
	}
	ignore := func(c *framework.Config) { c.InterPod.IgnorePreferredTermsOfExistingPods = true }
	for name, tc := range map[string]struct {
		existing []any
		pod      build.PodOption
		config   func(*framework.Config)
		want     string
	}{
		"preferred affinity raises the score":            {[]any{build.Pod("x", build.OnNode("a"), build.App("db"))}, prefers(5, build.PodAffinityTerm("zone", "db")), hard(1), "a=200 b=0 c=0"},
		"each pod counts":                                {[]any{build.Pod("x", build.OnNode("a"), build.App("db")), build.Pod("y", build.OnNode("a"), build.App("db")), build.Pod("z", build.OnNode("b"), build.App("db"))}, prefers(5, build.PodAffinityTerm("zone", "db")), hard(1), "a=200 b=100 c=0"},
		"preferred anti-affinity lowers the score":       {[]any{build.Pod("x", build.OnNode("a"), build.App("db"))}, avoids(5, build.PodAffinityTerm("zone", "db")), hard(1), "a=0 b=200 c=200"},
		"other pods' preferred affinity":                 {[]any{build.Pod("x", build.OnNode("a"), prefers(3, build.PodAffinityTerm("zone", "web")))}, build.App("web"), hard(1), "a=200 b=0 c=0"},
		"other pods' preferred anti-affinity":            {[]any{build.Pod("x", build.OnNode("a"), avoids(3, build.PodAffinityTerm("zone", "web")))}, build.App("web"), hard(1), "a=0 b=200 c=200"},
		"other pods' required affinity":                  {[]any{build.Pod("x", build.OnNode("a"), withAffinity(build.PodAffinityTerm("zone", "web"))), build.Pod("y", build.OnNode("b"), prefers(2, build.PodAffinityTerm("zone", "web")))}, build.App("web"), hard(1), "a=100 b=200 c=0"},
		"required affinity with HardPodAffinityWeight 4": {[]any{build.Pod("x", build.OnNode("a"), withAffinity(build.PodAffinityTerm("zone", "web"))), build.Pod("y", build.OnNode("b"), prefers(2, build.PodAffinityTerm("zone", "web")))}, build.App("web"), hard(4), "a=200 b=100 c=0"},
		"required affinity with HardPodAffinityWeight 0": {[]any{build.Pod("x", build.OnNode("a"), withAffinity(build.PodAffinityTerm("zone", "web")))}, build.App("web"), hard(0), ""},
		"no terms": {[]any{build.Pod("x", build.OnNode("a"), build.App("db"))}, build.App("web"), hard(1), ""},
		"preferences of existing pods can be ignored":                       {[]any{build.Pod("x", build.OnNode("a"), prefers(3, build.PodAffinityTerm("zone", "web")))}, build.App("web"), ignore, ""},
		"preferences of existing pods count if the pod has preferred terms": {[]any{build.Pod("x", build.OnNode("a"), prefers(3, build.PodAffinityTerm("zone", "web")))}, prefers(1, build.PodAffinityTerm("zone", "none")), ignore, "a=200 b=0 c=0"},
		"sums that cancel out are still scored": {[]any{build.Pod("x", build.OnNode("a"), build.App("db"))}, func(p *model.Pod) {
			prefers(2, build.PodAffinityTerm("zone", "db"))(p)
			avoids(2, build.PodAffinityTerm("zone", "db"))(p)
		}, hard(1), "a=0 b=0 c=0"},
	} {
		t.Run(name, func(t *testing.T) {
			r := decide(t, build.NewState(append(tc.existing, zones...)...), build.Pod("p", build.App("web"), tc.pod), tc.config)
			build.Expect(t, "points", build.Points(r, decision.InterPodAffinity), tc.want)
		})
	}
}
