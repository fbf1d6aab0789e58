package placement

import (
	"github.com/berthproject/berth/engine/decision"
)

// avoid rejects the nodes that a Hold keeps the pod's owner off, before any other
// rule and whatever the profile: what was thrown out of there would be thrown out
// again.
func (a *attempt) avoid() compiled {
	if !a.state.AnyAvoid(a.pod) {
		return compiled{}
	}
	return compiled{judge: func(st *site) decision.Verdict {
		h := a.state.Avoids(a.pod, st.node.Name)
		if h == nil {
			return decision.Verdict{}
		}
		return rejects(decision.Unresolvable, decision.Reason{Why: decision.WhyAvoid, Subject: h.Cause, Have: int64(h.Count), Who: h.Name})
	}}
}
