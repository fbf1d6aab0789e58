package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
)

// nodeDeclaredFeatures rejects nodes that do not declare a feature the pod needs.
func nodeDeclaredFeatures(ev *Evaluation) PreFilterState {
	needed := ev.Pod.Spec.Features
	if len(needed) == 0 {
		return PreFilterState{}
	}
	return PreFilterState{Filter: func(st *CandidateNode) decision.Verdict {
		for _, f := range needed {
			if !slices.Contains(st.Node.Features, f) {
				return Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonFeatures, Subject: f})
			}
		}
		return decision.Verdict{}
	}}
}
