package placement

import (
	"github.com/berthproject/berth/engine/decision"
)

// holdAvoid rejects the nodes that a Hold keeps the pod's owner off, before any other
// rule and whatever the profile: what was thrown out of there would be thrown out
// again.
func (a *attempt) holdAvoid() preFilterState {
	if !a.state.HasAvoidHold(a.pod) {
		return preFilterState{}
	}
	return preFilterState{filter: func(st *candidateNode) decision.Verdict {
		h := a.state.AvoidHold(a.pod, st.node.Name)
		if h == nil {
			return decision.Verdict{}
		}
		return rejection(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonAvoidHold, Subject: h.Cause, Have: int64(h.Count), Object: h.Name})
	}}
}
