package placement

import "slices"

// The sizes between which ImageLocality scores: below the first a download is
// not worth a thought, and each container counts up to the second.
const (
	imageFloor   = 23 << 20
	imageCeiling = 1000 << 20
)

// scoreImages scores the bytes of the pod's images that a node has. An image
// counts the more, the more nodes have it, so that pods do not pile up on the
// one node that pulled first.
func (a *attempt) scoreImages() scoring {
	nodes := float64(a.state.NumNodes())
	worth := make([]int64, len(a.pod.Spec.Images))
	for i, name := range a.pod.Spec.Images {
		spread := float64(a.state.ImageNodes(name)) / nodes
		worth[i] = int64(float64(float64(a.state.ImageSize(name)) * spread))
	}
	ceiling := int64(imageCeiling) * int64(a.pod.Spec.ImageContainers)
	return scoring{raw: func(st *site) int64 {
		var sum int64
		for i, name := range a.pod.Spec.Images {
			if st.hasImage(name) {
				sum += worth[i]
			}
		}
		sum = max(imageFloor, min(sum, ceiling))
		return 100 * (sum - imageFloor) / (ceiling - imageFloor)
	}}
}

func (st *site) hasImage(name string) bool {
	for i := range st.node.Images {
		if slices.Contains(st.node.Images[i].Names, name) {
			return true
		}
	}
	return false
}
