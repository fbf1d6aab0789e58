package placement

import "github.com/berthproject/berth/engine/decision"

// nodeName rejects every node but the one that the pod's spec.nodeName names.
func (a *attempt) nodeName() compiled {
	if a.pod.NodeName == "" {
		return compiled{}
	}
	return compiled{judge: func(st *site) decision.Verdict {
		if st.node.Name == a.pod.NodeName {
			return decision.Verdict{}
		}
		return rejects(decision.Unresolvable, decision.Reason{Why: decision.WhyNodeName, Subject: a.pod.NodeName})
	}}
}
