package placement

import "github.com/berthproject/berth/engine/decision"

// nodeName rejects every node but the one that the pod's spec.nodeName names.
func nodeName(ev *Evaluation) PreFilterState {
	if ev.Pod.NodeName == "" {
		return PreFilterState{}
	}
	return PreFilterState{Filter: func(st *CandidateNode) decision.Verdict {
		if st.Node.Name == ev.Pod.NodeName {
			return decision.Verdict{}
		}
		return Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonNodeName, Subject: ev.Pod.NodeName})
	}}
}
