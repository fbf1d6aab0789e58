package placement

import (
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

var unschedulableTaint = model.Taint{Key: "node.kubernetes.io/unschedulable", Effect: model.NoSchedule}

// nodeUnschedulable rejects cordoned nodes unless the pod tolerates the taint
// that stands for them.
func nodeUnschedulable(ev *Evaluation) PreFilterState {
	if tolerates(ev, &unschedulableTaint) {
		return PreFilterState{}
	}
	return PreFilterState{Filter: func(st *CandidateNode) decision.Verdict {
		if !st.Node.Unschedulable {
			return decision.Verdict{}
		}
		return Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonUnschedulable})
	}}
}
