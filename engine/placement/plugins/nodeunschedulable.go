package plugins

import (
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// UnschedulableTaint is the taint of a cordoned node.
var UnschedulableTaint = model.Taint{Key: "node.kubernetes.io/unschedulable", Effect: model.NoSchedule}

// nodeUnschedulable rejects cordoned nodes, unless the pod tolerates the corresponding
// taint.
func nodeUnschedulable(ev *framework.Evaluation) framework.PreFilterState {
	if Tolerates(ev, &UnschedulableTaint) {
		return framework.PreFilterState{}
	}
	return framework.PreFilterState{Filter: func(candidate *framework.CandidateNode) decision.Verdict {
		if !candidate.Node.Unschedulable {
			return decision.Verdict{}
		}
		return framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonUnschedulable})
	}}
}
