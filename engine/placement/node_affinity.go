package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// nodeAffinity rejects nodes that the profile's added affinity, spec.nodeSelector
// or the required node affinity does not select, and narrows the search when
// every required term names nodes.
func (a *attempt) nodeAffinity() preFilterState {
	sel, added := &a.pod.Spec.NodeSelector, &a.profile.cfg.AddedAffinity
	if len(sel.Labels) == 0 && !sel.HasRequired && !added.HasRequired {
		return preFilterState{}
	}
	c := preFilterState{filter: func(st *candidateNode) decision.Verdict {
		if added.HasRequired && !matchesAnyTerm(added.Required, st.node) {
			return rejection(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonEnforcedAffinity})
		}
		if subject, ok := matchesNodeSelector(sel, st.node); !ok {
			return rejection(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonNodeAffinity, Subject: subject})
		}
		return decision.Verdict{}
	}}
	if !sel.HasRequired || len(sel.Required) == 0 {
		return c
	}
	c.names, c.hasNames = nodeNamesOf(sel.Required)
	if c.hasNames && len(c.names) == 0 {
		v := rejection(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonText, Subject: "pod affinity terms conflict"})
		c.verdict = &v
	}
	return c
}

// nodeNamesOf are the names of nodes to which the terms, which are alternatives,
// limit the search, and whether each of them does so.
func nodeNamesOf(terms []model.NodeSelectorTerm) (names []string, hasNames bool) {
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

// matchesNodeSelector says whether a pod's own selector and required affinity select a
// node; if not, subject is the label that is wanted, or empty when no
// alternative of the affinity matches.
func matchesNodeSelector(sel *model.NodeSelector, n *model.Node) (subject string, ok bool) {
	for _, l := range sel.Labels {
		if v, has := n.Labels.Get(l.Key); !has || v != l.Value {
			return l.Key + "=" + l.Value, false
		}
	}
	return "", !sel.HasRequired || matchesAnyTerm(sel.Required, n)
}

func matchesAnyTerm(terms []model.NodeSelectorTerm, n *model.Node) bool {
	for i := range terms {
		if terms[i].Matches(n.Labels, n.Name) {
			return true
		}
	}
	return false
}

// scoreNodeAffinity sums the weights of the preferred terms that match, the
// profile's and the pod's. A malformed preference of the pod fails the attempt.
func (a *attempt) scoreNodeAffinity() preScoreState {
	own, added := a.pod.Spec.NodeSelector.Preferred, a.profile.cfg.AddedAffinity.Preferred
	if err := a.parseErrors(model.ParseErrorPreferredNodeAffinity); err != nil {
		return preScoreState{err: err}
	}
	if len(own)+len(added) == 0 {
		return preScoreState{}
	}
	return preScoreState{
		score: func(st *candidateNode) int64 {
			return preferredWeight(added, st.node) + preferredWeight(own, st.node)
		},
		normalizeScore: func(_ []*candidateNode, points []int64) { defaultNormalizeScore(points, false) },
	}
}

func preferredWeight(terms []model.PreferredSchedulingTerm, n *model.Node) int64 {
	var sum int64
	for i := range terms {
		if terms[i].Weight != 0 && terms[i].Term.Matches(n.Labels, n.Name) {
			sum += int64(terms[i].Weight)
		}
	}
	return sum
}
