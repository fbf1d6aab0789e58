package placement

import (
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

var unschedulableTaint = model.Taint{Key: "node.kubernetes.io/unschedulable", Effect: model.NoSchedule}

// nodeUnschedulable rejects cordoned nodes unless the pod tolerates the taint
// that stands for them.
func (a *attempt) nodeUnschedulable() compiled {
	if a.tolerates(&unschedulableTaint) {
		return compiled{}
	}
	return compiled{judge: func(st *site) decision.Verdict {
		if !st.node.Unschedulable {
			return decision.Verdict{}
		}
		return rejects(decision.Unresolvable, decision.Reason{Why: decision.WhyUnschedulable})
	}}
}
