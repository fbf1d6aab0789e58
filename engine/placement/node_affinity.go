package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// nodeAffinity rejects nodes that the profile's added affinity, spec.nodeSelector
// or the required node affinity does not select, and narrows the search when
// every required term names nodes.
func (a *attempt) nodeAffinity() compiled {
	sel, added := &a.pod.Spec.NodeSelector, &a.profile.cfg.AddedAffinity
	if len(sel.Labels) == 0 && !sel.HasRequired && !added.HasRequired {
		return compiled{}
	}
	c := compiled{judge: func(st *site) decision.Verdict {
		if added.HasRequired && !anyTerm(added.Required, st.node) {
			return rejects(decision.Unresolvable, decision.Reason{Why: decision.WhyEnforcedAffinity})
		}
		if subject, ok := selected(sel, st.node); !ok {
			return rejects(decision.Unresolvable, decision.Reason{Why: decision.WhyNodeAffinity, Subject: subject})
		}
		return decision.Verdict{}
	}}
	if !sel.HasRequired || len(sel.Required) == 0 {
		return c
	}
	c.names, c.narrowed = namedNodes(sel.Required)
	if c.narrowed && len(c.names) == 0 {
		v := rejects(decision.Unresolvable, decision.Reason{Why: decision.WhyText, Subject: "pod affinity terms conflict"})
		c.refusal = &v
	}
	return c
}

// namedNodes are the names of nodes to which the terms, which are alternatives,
// limit the search, and whether each of them does so.
func namedNodes(terms []model.NodeTerm) (names []string, narrowed bool) {
	for i := range terms {
		var of []string
		named := false
		for _, f := range terms[i].Fields {
			if f.Key != "metadata.name" || f.Op != model.In {
				continue
			}
			if !named {
				of, named = slices.Clone(f.Values), true
				continue
			}
			of = slices.DeleteFunc(of, func(n string) bool { return !slices.Contains(f.Values, n) })
		}
		if !named {
			return nil, false
		}
		names = append(names, of...)
	}
	slices.Sort(names)
	return slices.Compact(names), true
}

// selected says whether a pod's own selector and required affinity select a
// node; if not, subject is the label that is wanted, or empty when no
// alternative of the affinity matches.
func selected(sel *model.NodeSelector, n *model.Node) (subject string, ok bool) {
	for _, l := range sel.Labels {
		if v, has := n.Labels.Get(l.Key); !has || v != l.Value {
			return l.Key + "=" + l.Value, false
		}
	}
	return "", !sel.HasRequired || anyTerm(sel.Required, n)
}

func anyTerm(terms []model.NodeTerm, n *model.Node) bool {
	for i := range terms {
		if terms[i].Matches(n.Labels, n.Name) {
			return true
		}
	}
	return false
}

// scoreNodeAffinity sums the weights of the preferred terms that match, the
// profile's and the pod's. A malformed preference of the pod fails the attempt.
func (a *attempt) scoreNodeAffinity() scoring {
	own, added := a.pod.Spec.NodeSelector.Preferred, a.profile.cfg.AddedAffinity.Preferred
	if err := a.faults(model.FaultPreferredNode); err != nil {
		return scoring{err: err}
	}
	if len(own)+len(added) == 0 {
		return scoring{}
	}
	return scoring{
		raw: func(st *site) int64 {
			return preference(added, st.node) + preference(own, st.node)
		},
		normalise: func(_ []*site, points []int64) { scaleToMost(points, false) },
	}
}

func preference(terms []model.WeightedNodeTerm, n *model.Node) int64 {
	var sum int64
	for i := range terms {
		if terms[i].Weight != 0 && terms[i].Term.Matches(n.Labels, n.Name) {
			sum += int64(terms[i].Weight)
		}
	}
	return sum
}
