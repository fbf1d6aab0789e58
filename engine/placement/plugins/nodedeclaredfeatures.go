package plugins

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/framework"
)

// nodeDeclaredFeatures rejects nodes that do not declare a feature that the pod requires.
func nodeDeclaredFeatures(ev *framework.Evaluation) framework.PreFilterState {
	required := ev.Pod.Spec.Features
	if len(required) == 0 {
		return framework.PreFilterState{}
	}
	return framework.PreFilterState{Filter: func(candidate *framework.CandidateNode) decision.Verdict {
		for _, f := range required {
			if !slices.Contains(candidate.Node.Features, f) {
				return framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonFeatures, Subject: f})
			}
		}
		return decision.Verdict{}
	}}
}
