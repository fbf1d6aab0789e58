package placement

import "github.com/berthproject/berth/engine/decision"

// nodeName rejects every node but the one that the pod's spec.nodeName names.
func (a *attempt) nodeName() preFilterState {
	if a.pod.NodeName == "" {
		return preFilterState{}
	}
	return preFilterState{filter: func(st *candidateNode) decision.Verdict {
		if st.node.Name == a.pod.NodeName {
			return decision.Verdict{}
		}
		return rejection(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonNodeName, Subject: a.pod.NodeName})
	}}
}
