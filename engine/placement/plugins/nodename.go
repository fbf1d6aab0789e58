package plugins

import (
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/framework"
)

// nodeName rejects all nodes but the one in spec.nodeName.
func nodeName(ev *framework.Evaluation) framework.PreFilterState {
	if ev.Pod.NodeName == "" {
		return framework.PreFilterState{}
	}
	return framework.PreFilterState{Filter: func(candidate *framework.CandidateNode) decision.Verdict {
		if candidate.Node.Name == ev.Pod.NodeName {
			return decision.Verdict{}
		}
		return framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonNodeName, Subject: ev.Pod.NodeName})
	}}
}
