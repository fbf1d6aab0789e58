package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
)

// nodeDeclaredFeatures rejects nodes that do not declare a feature the pod needs.
func (a *attempt) nodeDeclaredFeatures() preFilterState {
	needed := a.pod.Spec.Features
	if len(needed) == 0 {
		return preFilterState{}
	}
	return preFilterState{filter: func(st *candidateNode) decision.Verdict {
		for _, f := range needed {
			if !slices.Contains(st.node.Features, f) {
				return rejection(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonFeatures, Subject: f})
			}
		}
		return decision.Verdict{}
	}}
}
