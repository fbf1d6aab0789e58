package explain

import (
	"encoding/json"
	"time"
)

type nodeExplanationView struct {
	Node         string           `json:"node"`
	Ready        bool             `json:"ready"`
	Cordoned     bool             `json:"cordoned"`
	Taints       []string         `json:"taints,omitempty"`
	Conditions   []conditionView  `json:"conditions,omitempty"`
	Resources    []resourceView   `json:"resources"`
	Pods         []placedView     `json:"pods"`
	Nominated    []string         `json:"nominated,omitempty"`
	Holds        []holdView       `json:"holds,omitempty"`
	Fits         []string         `json:"fits,omitempty"`
	Rejected     []refusedPodView `json:"rejected,omitempty"`
	NotEvaluated int              `json:"notEvaluated,omitempty"`
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

type placedView struct {
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

type refusedPodView struct {
	Pod string `json:"pod"`
	*verdictView
}

// JSON returns the explanation as JSON. The names of fields are stable.
func (a *NodeExplanation) JSON() ([]byte, error) {
	v := nodeExplanationView{Node: a.Node.Name, Ready: a.Node.Ready, Cordoned: a.Node.Unschedulable, Pods: []placedView{},
		Nominated: keys(a.Nominated), Fits: a.Fits, NotEvaluated: a.NotEvaluated}
	for i := range a.Node.Taints {
		v.Taints = append(v.Taints, taintText(&a.Node.Taints[i]))
	}
	for _, c := range a.Conditions {
		v.Conditions = append(v.Conditions, conditionView(c))
	}
	for _, r := range a.resourceRows() {
		v.Resources = append(v.Resources, resourceView{r.name, r.used, r.have})
	}
	for _, p := range a.Pods {
		v.Pods = append(v.Pods, placedView{p.Key(), p.Spec.Priority, p.Spec.Requests.MilliCPU, p.Spec.Requests.Memory, podState(p)})
	}
	for _, h := range a.Holds {
		v.Holds = append(v.Holds, holdView{h.Key(), h.Type.String(), h.Owner.Kind + "/" + h.Owner.Name, h.Cause, h.Count, h.Until})
	}
	for i := range a.Rejected {
		v.Rejected = append(v.Rejected, refusedPodView{a.Rejected[i].Pod, newVerdictView(&a.Rejected[i].Verdict)})
	}
	return json.MarshalIndent(v, "", "  ")
}
