package explain

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/remediation"
	"github.com/berthproject/berth/internal/journal"
)

// PodExplanation is the result of ExplainPod.
type PodExplanation struct {
	Record      *decision.Record
	Pod         *model.Pod // as evaluated: unbound
	Node        string     // node of a bound pod
	NodeMissing bool       // the node does not exist
	// Problems are reported by the node and prevent the pod from running, one per line.
	Problems []string
	// Nominated is the nominated node. TerminatingVictims are the pods that must terminate there
	// first.
	Nominated          string
	TerminatingVictims []*model.Pod
	// Preemption is the result of preemption; nil for a pod that fits, is bound or is gated.
	Preemption *decision.Preemption
	// Resize is the result of preemption for a resize that the node of a bound pod has deferred; nil if there
	// is none. ResizePreemption reports whether the scheduler preempts for resizes.
	Resize           *decision.Summary
	ResizePreemption bool
	// Extenders reports whether the scheduler also calls extenders for the pod, which ExplainPod
	// does not.
	Extenders bool
	// Suggestions are for an unschedulable or gated pod; nil otherwise.
	Suggestions *remediation.Result
	// Decisions are from a scheduler's journal, about this pod and earlier pods of its name,
	// oldest first.
	Decisions []journal.Decision
}

// uid returns the UID of the pod, if the pod is set.
func (e *PodExplanation) uid() string {
	if e.Pod == nil {
		return ""
	}
	return e.Pod.UID
}

// ExplainPod explains where a pod can run. A bound pod is evaluated as if it were not
// bound: ExplainPod removes it from the state. Otherwise the state is not changed.
func ExplainPod(s *cluster.State, p *framework.Profile, seed uint64, o preemption.Options, pod *model.Pod) *PodExplanation {
	e := &PodExplanation{Pod: pod, Node: pod.NodeName}
	if pod.NodeName != "" {
		_, exists := s.NodeID(pod.NodeName)
		e.NodeMissing = !exists
		if exists && pod.DeferredResize != nil {
			e.Resize = preemption.EvaluateResize(s, p, o, pod, true)
		}
		s.RemovePod(pod.UID)
		unbound := *pod
		unbound.NodeName, unbound.NominatedNodeName, unbound.Phase = "", "", model.Pending
		e.Pod = &unbound
	} else if id, ok := s.NodeID(pod.NominatedNodeName); ok {
		e.Nominated, e.TerminatingVictims = pod.NominatedNodeName, terminatingVictims(s.Node(id).Pods, pod)
	}
	e.Record = placement.Evaluate(s, p, seed, e.Pod)
	if e.Node != "" {
		return e
	}
	switch e.Record.Outcome {
	case decision.Infeasible:
		e.Preemption = &preemption.Evaluate(s, p, seed, o, e.Pod, e.Record).Preemption
		e.Suggestions = remediation.Find(s, p, seed, e.Pod, e.Record, remediation.Options{MaxPerVerdict: maxNames})
	case decision.Gated:
		e.Suggestions = remediation.Find(s, p, seed, e.Pod, e.Record, remediation.Options{MaxPerVerdict: maxNames})
	}
	return e
}

// terminatingVictims returns the terminating pods of a lower priority, most important
// first.
func terminatingVictims(pods []*model.Pod, pod *model.Pod) []*model.Pod {
	var out []*model.Pod
	for _, p := range pods {
		if p.Deleting && p.Spec.Priority < pod.Spec.Priority {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b *model.Pod) int {
		return cmp.Or(cmp.Compare(b.Spec.Priority, a.Spec.Priority), cmp.Compare(a.Key(), b.Key()))
	})
	return out
}
