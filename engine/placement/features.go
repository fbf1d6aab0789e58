package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
)

// declaredFeatures rejects nodes that do not declare a feature the pod needs.
func (a *attempt) declaredFeatures() compiled {
	needed := a.pod.Spec.Features
	if len(needed) == 0 {
		return compiled{}
	}
	return compiled{judge: func(st *site) decision.Verdict {
		for _, f := range needed {
			if !slices.Contains(st.node.Features, f) {
				return rejects(decision.Unresolvable, decision.Reason{Why: decision.WhyFeatures, Subject: f})
			}
		}
		return decision.Verdict{}
	}}
}
