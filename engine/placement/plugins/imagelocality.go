package plugins

import (
	"slices"

	"github.com/berthproject/berth/engine/placement/framework"
)

// Thresholds of ImageLocality in bytes. A sum of image sizes below the minimum scores 0; the
// maximum is multiplied by the number of containers.
const (
	MinImageThreshold          = 23 << 20
	MaxContainerImageThreshold = 1000 << 20
)

// scoreImageLocality scores by the total size of the pod's images that a node has. An
// image counts more, the more nodes have it, so that pods do not pile up on one node.
func scoreImageLocality(ev *framework.Evaluation, _ []*framework.CandidateNode) framework.PreScoreState {
	nodes := float64(ev.State.NumNodes())
	imageScores := make([]int64, len(ev.Pod.Spec.Images))
	for i, name := range ev.Pod.Spec.Images {
		spread := float64(ev.State.ImageNodes(name)) / nodes
		imageScores[i] = int64(float64(float64(ev.State.ImageSize(name)) * spread))
	}
	ceiling := int64(MaxContainerImageThreshold) * int64(ev.Pod.Spec.ImageContainers)
	return framework.PreScoreState{Score: func(candidate *framework.CandidateNode) int64 {
		var sum int64
		for i, name := range ev.Pod.Spec.Images {
			if hasImage(candidate, name) {
				sum += imageScores[i]
			}
		}
		sum = max(MinImageThreshold, min(sum, ceiling))
		return 100 * (sum - MinImageThreshold) / (ceiling - MinImageThreshold)
	}}
}

func hasImage(candidate *framework.CandidateNode, name string) bool {
	for i := range candidate.Node.Images {
		if slices.Contains(candidate.Node.Images[i].Names, name) {
			return true
		}
	}
	return false
}
