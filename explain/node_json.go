package explain

import (
	"encoding/json"
	"time"
)

type nodeExplanationView struct {
	Node         string            `json:"node"`
	Ready        bool              `json:"ready"`
	Cordoned     bool              `json:"cordoned"`
	Taints       []string          `json:"taints,omitempty"`
	Conditions   []conditionView   `json:"conditions,omitempty"`
	Resources    []resourceView    `json:"resources"`
	Pods         []podView         `json:"pods"`
	Nominated    []string          `json:"nominated,omitempty"`
	Holds        []holdView        `json:"holds,omitempty"`
	Fits         []string          `json:"fits,omitempty"`
	Rejected     []rejectedPodView `json:"rejected,omitempty"`
	NotEvaluated int               `json:"notEvaluated,omitempty"`
}

type conditionView struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
}

// resourceView is in thousandths of a core, bytes and counts.
type resourceView struct {
	Name        string `json:"name"`
	Requested   int64  `json:"requested"`
	Allocatable int64  `json:"allocatable"`
}

type podView struct {
	Pod      string `json:"pod"`
	Priority int32  `json:"priority"`
	MilliCPU int64  `json:"milliCPU"`
	Memory   int64  `json:"memory"`
	State    string `json:"state"`
}

type holdView struct {
	Name  string    `json:"name"` // namespace/name
	Type  string    `json:"type"`
	Owner string    `json:"owner"` // kind/name
	Cause string    `json:"cause"`
	Count int32     `json:"count"`
	Until time.Time `json:"until"`
}

type rejectedPodView struct {
	Pod string `json:"pod"`
	*verdictView
}

// JSON returns the explanation as JSON. The names of fields are stable.
func (e *NodeExplanation) JSON() ([]byte, error) {
	v := nodeExplanationView{Node: e.Node.Name, Ready: e.Node.Ready, Cordoned: e.Node.Unschedulable, Pods: []podView{},
		Nominated: keys(e.Nominated), Fits: e.Fits, NotEvaluated: e.NotEvaluated}
	for i := range e.Node.Taints {
		v.Taints = append(v.Taints, taintText(&e.Node.Taints[i]))
	}
	for _, c := range e.Conditions {
		v.Conditions = append(v.Conditions, conditionView(c))
	}
	for _, r := range e.resourceRows() {
		v.Resources = append(v.Resources, resourceView{r.name, r.requested, r.allocatable})
	}
	for _, p := range e.Pods {
		v.Pods = append(v.Pods, podView{p.Key(), p.Spec.Priority, p.Spec.Requests.MilliCPU, p.Spec.Requests.Memory, podState(p)})
	}
	for _, h := range e.Holds {
		v.Holds = append(v.Holds, holdView{h.Key(), h.Type.String(), h.Owner.Kind + "/" + h.Owner.Name, h.Cause, h.Count, h.Until})
	}
	for i := range e.Rejected {
		v.Rejected = append(v.Rejected, rejectedPodView{e.Rejected[i].Pod, newVerdictView(&e.Rejected[i].Verdict)})
	}
	return json.MarshalIndent(v, "", "  ")
}
