package planning

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// ExpectedReplacement is the pod that will replace another, on a node; none: waiting for one.
func ExpectedReplacement(p *model.Pod, node string) *model.Pod {
	return &model.Pod{Namespace: p.Namespace, Name: p.Name, UID: ExpectedReplacementUID(p), Labels: p.Labels, Spec: p.Spec, Owner: p.Owner,
		HasEmptyDir: p.HasEmptyDir, NodeName: node, Phase: model.Pending}
}

// ExpectedReplacementUID is the uid of a pod's StandIn.
func ExpectedReplacementUID(p *model.Pod) string { return "planned/" + p.UID }

// TopNodes are the nodes that a scheduler which heeds no Holds may choose for the replacement of a pod, by name: those of
// the highest total when the pod is gone, and while it is still there on its way out. Choice is that
// which it takes when the pod is gone; empty: none fits. The pod must not be on the state, which is left as it was.
func TopNodes(s *cluster.State, p *placement.Profile, seed uint64, pod *model.Pod) (top []string, choice string) {
	in := ExpectedReplacement(pod, "")
	gone := placement.Evaluate(s, p, seed, in)
	leaving := *pod
	leaving.Deleting = true
	s.UpsertPod(&leaving)
	there := placement.Evaluate(s, p, seed, in)
	s.RemovePod(leaving.UID)
	if gone.Outcome != decision.Scheduled {
		return nil, ""
	}
	top = slices.Concat(gone.Top, there.Top)
	slices.Sort(top)
	return slices.Compact(top), gone.Choice
}
