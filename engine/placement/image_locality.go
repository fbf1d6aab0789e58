package placement

import "slices"

// The sizes between which ImageLocality scores: below the first a download is
// not worth a thought, and each container counts up to the second.
const (
	minImageThreshold          = 23 << 20
	maxContainerImageThreshold = 1000 << 20
)

// scoreImageLocality scores the bytes of the pod's images that a node has. An image
// counts the more, the more nodes have it, so that pods do not pile up on the
// one node that pulled first.
func (a *attempt) scoreImageLocality() preScoreState {
	nodes := float64(a.state.NumNodes())
	worth := make([]int64, len(a.pod.Spec.Images))
	for i, name := range a.pod.Spec.Images {
		spread := float64(a.state.ImageNodes(name)) / nodes
		worth[i] = int64(float64(float64(a.state.ImageSize(name)) * spread))
	}
	ceiling := int64(maxContainerImageThreshold) * int64(a.pod.Spec.ImageContainers)
	return preScoreState{score: func(st *candidateNode) int64 {
		var sum int64
		for i, name := range a.pod.Spec.Images {
			if st.hasImage(name) {
				sum += worth[i]
			}
		}
		sum = max(minImageThreshold, min(sum, ceiling))
		return 100 * (sum - minImageThreshold) / (ceiling - minImageThreshold)
	}}
}

func (st *candidateNode) hasImage(name string) bool {
	for i := range st.node.Images {
		if slices.Contains(st.node.Images[i].Names, name) {
			return true
		}
	}
	return false
}
