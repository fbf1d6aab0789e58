package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
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

// noteAvoided notes the nodes that the pod is held off, which are few, as out for this
// decision.
func (e *Engine) noteAvoided(pod *model.Pod) {
	for _, h := range e.state.HoldsOf(pod.Namespace, pod.Owner.UID) {
		if h.Type != model.Avoid {
			continue
		}
		if id, known := e.state.NodeID(h.Node); known && !e.noted(id) {
			e.scratch.ahead = append(e.scratch.ahead, aheadFail{id, fail(failAvoid)})
		}
	}
}

// noted says whether a node was noted as out already.
func (e *Engine) noted(id cluster.NodeID) bool {
	return slices.ContainsFunc(e.scratch.ahead, func(a aheadFail) bool { return a.node == id })
}
