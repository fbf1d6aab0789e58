package plugins

import (
	"github.com/berthproject/berth/engine/placement/framework"
	"slices"
)

// The sizes between which ImageLocality scores: below the first a download is
// not worth a thought, and each container counts up to the second.
const (
	MinImageThreshold          = 23 << 20
	MaxContainerImageThreshold = 1000 << 20
)

// scoreImageLocality scores the bytes of the pod's images that a node has. An image
// counts the more, the more nodes have it, so that pods do not pile up on the
// one node that pulled first.
func scoreImageLocality(ev *framework.Evaluation, _ []*framework.CandidateNode) framework.PreScoreState {
	nodes := float64(ev.State.NumNodes())
	worth := make([]int64, len(ev.Pod.Spec.Images))
	for i, name := range ev.Pod.Spec.Images {
		spread := float64(ev.State.ImageNodes(name)) / nodes
		worth[i] = int64(float64(float64(ev.State.ImageSize(name)) * spread))
	}
	ceiling := int64(MaxContainerImageThreshold) * int64(ev.Pod.Spec.ImageContainers)
	return framework.PreScoreState{Score: func(st *framework.CandidateNode) int64 {
		var sum int64
		for i, name := range ev.Pod.Spec.Images {
			if hasImage(st, name) {
				sum += worth[i]
			}
		}
		sum = max(MinImageThreshold, min(sum, ceiling))
		return 100 * (sum - MinImageThreshold) / (ceiling - MinImageThreshold)
	}}
}

func hasImage(st *framework.CandidateNode, name string) bool {
	for i := range st.Node.Images {
		if slices.Contains(st.Node.Images[i].Names, name) {
			return true
		}
	}
	return false
}
