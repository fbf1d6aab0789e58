package plugins

import (
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/framework"
)

// holdAvoid rejects nodes with an Avoid Hold for the pod's owner.
func holdAvoid(ev *framework.Evaluation) framework.PreFilterState {
	if !ev.State.HasAvoidHold(ev.Pod) {
		return framework.PreFilterState{}
	}
	return framework.PreFilterState{Filter: func(candidate *framework.CandidateNode) decision.Verdict {
		h := ev.State.AvoidHold(ev.Pod, candidate.Node.Name)
		if h == nil {
			return decision.Verdict{}
		}
		return framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonAvoidHold, Subject: h.Cause, Have: int64(h.Count), Object: h.Name})
	}}
}
