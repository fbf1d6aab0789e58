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

// PodExplanation is all there is to say about where a pod can run.
type PodExplanation struct {
	Record      *decision.Record
	Pod         *model.Pod // as it was judged: unbound
	Node        string     // where it is bound; empty while it waits
	NodeMissing bool       // there is no such node
	// Problems are what its node reports that keeps it from running there, a line each.
	Problems []string
	// Nominated is the node that room is being made on for the pod, and Leaving who must leave
	// there first.
	Nominated          string
	TerminatingVictims []*model.Pod
	// Preemption is what looking for victims would come to; nil for a pod that fits,
	// is bound or is held back.
	Preemption *decision.Preemption
	// Extenders says that the scheduler asks extenders about the pod, too, as nobody did here.
	Extenders bool
	// Suggestions are for a pod that waits and fits nowhere; nil otherwise.
	Suggestions *remediation.Result
	// Decisions is what a scheduler's journal says that was decided about this pod and earlier ones of its name, the oldest first.
	Decisions []journal.Decision
}

// uid is the pod's; empty where only a record is told of.
func (a *PodExplanation) uid() string {
	if a.Pod == nil {
		return ""
	}
	return a.Pod.UID
}

// ExplainPod works out the answer. A bound pod is judged as if it were not bound, and the state is
// without it afterwards; nothing else of the state changes.
func ExplainPod(s *cluster.State, p *framework.Profile, seed uint64, o preemption.Options, pod *model.Pod) *PodExplanation {
	a := &PodExplanation{Pod: pod, Node: pod.NodeName}
	if pod.NodeName != "" {
		_, known := s.NodeID(pod.NodeName)
		a.NodeMissing = !known
		s.RemovePod(pod.UID)
		free := *pod
		free.NodeName, free.NominatedNodeName, free.Phase = "", "", model.Pending
		a.Pod = &free
	} else if id, ok := s.NodeID(pod.NominatedNodeName); ok {
		a.Nominated, a.TerminatingVictims = pod.NominatedNodeName, terminatingVictims(s.Node(id).Pods, pod)
	}
	a.Record = placement.Evaluate(s, p, seed, a.Pod)
	if a.Node != "" {
		return a
	}
	switch a.Record.Outcome {
	case decision.Infeasible:
		a.Preemption = &preemption.Evaluate(s, p, seed, o, a.Pod, a.Record).Preemption
		a.Suggestions = remediation.Find(s, p, seed, a.Pod, a.Record, remediation.Options{MaxPerVerdict: maxNames})
	case decision.Gated:
		a.Suggestions = remediation.Find(s, p, seed, a.Pod, a.Record, remediation.Options{MaxPerVerdict: maxNames})
	}
	return a
}

// terminatingVictims are the less important pods of a node that are on their way out, the most
// important first.
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
