package plugins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// constraints returns the distinct constraints of a namespace's pods.
func (s *RemovePodsViolatingTopologySpreadConstraint) constraints(ns *namespacePods) []*spreadConstraint {
	type origin struct {
		spec   *model.PodSpec
		i      int
		values string // of matchLabelKeys
	}
	seen := map[origin]bool{}
	keys := map[string]bool{}
	var out []*spreadConstraint
	for _, p := range ns.pods {
		for i := range p.pod.Spec.Spread {
			c := &p.pod.Spec.Spread[i]
			if c.Hard && !s.Hard || !c.Hard && !s.Soft || !s.Has(p.pod) {
				continue
			}
			from := origin{p.pod.Spec, i, formatLabelValues(p.pod.Labels, c.MatchLabelKeys)}
			if seen[from] {
				continue
			}
			seen[from] = true
			shared := &spreadConstraint{SpreadConstraint: c, selector: effectiveSelector(c, p.pod.Labels), sample: p.pod}
			if id := shared.identity(); !keys[id] {
				keys[id] = true
				shared.findDomains(ns.nodes)
				out = append(out, shared)
			}
		}
	}
	return out
}

func formatLabelValues(l model.Labels, keys []string) string {
	var b strings.Builder
	for _, k := range keys {
		v, found := l.Get(k)
		fmt.Fprintf(&b, "%t %s\n", found, v)
	}
	return b.String()
}

// effectiveSelector returns the selector of a constraint with the pod's values of
// matchLabelKeys.
func effectiveSelector(c *model.SpreadConstraint, l model.Labels) *model.Selector {
	selector := c.Selector
	for _, k := range c.MatchLabelKeys {
		v, found := l.Get(k)
		if !found || selector == nil {
			continue
		}
		selector = &model.Selector{Requirements: append(slices.Clip(selector.Requirements), model.Requirement{Key: k, Op: model.In, Values: []string{v}})}
	}
	return selector
}

// identity returns a string that is equal for constraints that count the same pods in the same
// domains and have the same limits.
func (c *spreadConstraint) identity() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %t %t %t", c.TopologyKey, c.MaxSkew, c.Hard, c.IgnoreAffinity, c.HonorTaints)
	if c.selector != nil {
		fmt.Fprintf(&b, " %v", c.selector.Requirements)
	}
	s := c.sample.Spec
	fmt.Fprintf(&b, "|%v %t", s.NodeSelector.Labels, s.NodeSelector.HasRequired)
	for i := range s.NodeSelector.Required {
		t := &s.NodeSelector.Required[i]
		fmt.Fprintf(&b, " %v %v %t", t.Labels, t.Fields, t.Malformed)
	}
	for i := range s.Tolerations {
		t := &s.Tolerations[i]
		fmt.Fprintf(&b, "|%s %d %s %d", t.Key, t.Op, t.Value, t.Effect)
	}
	return b.String()
}
