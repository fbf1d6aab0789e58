package planning

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
)

// ExpectedReplacement returns the pod expected to replace p, on a node, or unscheduled if node
// is empty.
func ExpectedReplacement(p *model.Pod, node string) *model.Pod {
	return &model.Pod{Namespace: p.Namespace, Name: p.Name, UID: ExpectedReplacementUID(p), Labels: p.Labels, Spec: p.Spec, Owner: p.Owner,
		HasEmptyDir: p.HasEmptyDir, NodeName: node, Phase: model.Pending}
}

// ExpectedReplacementUID returns the UID of ExpectedReplacement.
func ExpectedReplacementUID(p *model.Pod) string { return "planned/" + p.UID }

// TopNodes returns the names of the nodes that a scheduler without Holds may choose for the
// replacement of pod. They have the highest score while the pod terminates and after it is
// deleted. choice is the node chosen after the deletion, or "". The pod must not be in s, which is
// left unchanged.
func TopNodes(s *cluster.State, p *framework.Profile, seed uint64, pod *model.Pod) (top []string, choice string) {
	replacement := ExpectedReplacement(pod, "")
	afterRemoval := placement.Evaluate(s, p, seed, replacement)
	terminating := *pod
	terminating.Deleting = true
	s.UpsertPod(&terminating)
	whileTerminating := placement.Evaluate(s, p, seed, replacement)
	s.RemovePod(terminating.UID)
	if afterRemoval.Outcome != decision.Scheduled {
		return nil, ""
	}
	top = slices.Concat(afterRemoval.Top, whileTerminating.Top)
	slices.Sort(top)
	return slices.Compact(top), afterRemoval.Choice
}
