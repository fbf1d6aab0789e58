package placement

import (
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

var unschedulableTaint = model.Taint{Key: "node.kubernetes.io/unschedulable", Effect: model.NoSchedule}

// nodeUnschedulable rejects cordoned nodes unless the pod tolerates the taint
// that stands for them.
func (a *attempt) nodeUnschedulable() preFilterState {
	if a.tolerates(&unschedulableTaint) {
		return preFilterState{}
	}
	return preFilterState{filter: func(st *candidateNode) decision.Verdict {
		if !st.node.Unschedulable {
			return decision.Verdict{}
		}
		return rejection(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonUnschedulable})
	}}
}
