package plugins

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// nodeAffinity rejects nodes that do not match the profile's addedAffinity,
// spec.nodeSelector or the required node affinity. It limits the search if every required
// term names nodes.
func nodeAffinity(ev *framework.Evaluation) framework.PreFilterState {
	sel, added := &ev.Pod.Spec.NodeSelector, &ev.Profile.Config().AddedAffinity
	if len(sel.Labels) == 0 && !sel.HasRequired && !added.HasRequired {
		return framework.PreFilterState{}
	}
	state := framework.PreFilterState{Filter: func(candidate *framework.CandidateNode) decision.Verdict {
		if added.HasRequired && !MatchesAnyTerm(added.Required, candidate.Node) {
			return framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonEnforcedAffinity})
		}
		if subject, ok := MatchesNodeSelector(sel, candidate.Node); !ok {
			return framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonNodeAffinity, Subject: subject})
		}
		return decision.Verdict{}
	}}
	if !sel.HasRequired || len(sel.Required) == 0 {
		return state
	}
	state.NodeNames, state.HasNodeNames = NodeNamesOf(sel.Required)
	if state.HasNodeNames && len(state.NodeNames) == 0 {
		v := framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonText, Subject: "pod affinity terms conflict"})
		state.Verdict = &v
	}
	return state
}

// NodeNamesOf returns the node names to which alternative terms limit the search. hasNames
// is false if a term does not name nodes.
func NodeNamesOf(terms []model.NodeSelectorTerm) (names []string, hasNames bool) {
	for i := range terms {
		var termNames []string
		found := false
		for _, f := range terms[i].Fields {
			if f.Key != "metadata.name" || f.Op != model.In {
				continue
			}
			if !found {
				termNames, found = slices.Clone(f.Values), true
				continue
			}
			termNames = slices.DeleteFunc(termNames, func(n string) bool { return !slices.Contains(f.Values, n) })
		}
		if !found {
			return nil, false
		}
		names = append(names, termNames...)
	}
	slices.Sort(names)
	return slices.Compact(names), true
}

// MatchesNodeSelector reports whether the pod's nodeSelector and required node affinity
// match a node. If not, subject is the missing label, or empty if no affinity term
// matches.
func MatchesNodeSelector(sel *model.NodeSelector, n *model.Node) (subject string, ok bool) {
	for _, l := range sel.Labels {
		if v, found := n.Labels.Get(l.Key); !found || v != l.Value {
			return l.Key + "=" + l.Value, false
		}
	}
	return "", !sel.HasRequired || MatchesAnyTerm(sel.Required, n)
}

// MatchesAnyTerm reports whether a node matches at least one term.
func MatchesAnyTerm(terms []model.NodeSelectorTerm, n *model.Node) bool {
	for i := range terms {
		if terms[i].Matches(n.Labels, n.Name) {
			return true
		}
	}
	return false
}

// scoreNodeAffinity sums the weights of the matching preferred terms of the profile and
// the pod. A malformed term of the pod fails the attempt.
func scoreNodeAffinity(ev *framework.Evaluation, _ []*framework.CandidateNode) framework.PreScoreState {
	preferred, added := ev.Pod.Spec.NodeSelector.Preferred, ev.Profile.Config().AddedAffinity.Preferred
	if err := ev.ParseErrors(model.ParseErrorPreferredNodeAffinity); err != nil {
		return framework.PreScoreState{Err: err}
	}
	if len(preferred)+len(added) == 0 {
		return framework.PreScoreState{}
	}
	return framework.PreScoreState{
		Score: func(candidate *framework.CandidateNode) int64 {
			return PreferredWeight(added, candidate.Node) + PreferredWeight(preferred, candidate.Node)
		},
		NormalizeScore: func(_ []*framework.CandidateNode, points []int64) { defaultNormalizeScore(points, false) },
	}
}

// PreferredWeight returns the sum of the weights of the terms that a node matches.
func PreferredWeight(terms []model.PreferredSchedulingTerm, n *model.Node) int64 {
	var sum int64
	for i := range terms {
		if terms[i].Weight != 0 && terms[i].Term.Matches(n.Labels, n.Name) {
			sum += int64(terms[i].Weight)
		}
	}
	return sum
}
