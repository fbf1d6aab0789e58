package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// imageSpread is on how many nodes an image is.
type imageSpread struct{ nodes int }

// ImageNodes is the number of nodes that have an image under the normalised
// name. Its size is what the node in question reports, see ImageSize.
func (s *State) ImageNodes(name string) int {
	sp, _ := s.images.get(name)
	return sp.nodes
}

// ImageSize is the size of the named image in bytes as the node reports it; 0
// when the node has none of that name.
func (n *NodeInfo) ImageSize(name string) int64 {
	for i := range n.Model.Images {
		if slices.Contains(n.Model.Images[i].Names, name) {
			return n.Model.Images[i].Size
		}
	}
	return 0
}

func (s *State) addImages(n *model.Node)  { s.spreadImages(n, 1) }
func (s *State) dropImages(n *model.Node) { s.spreadImages(n, -1) }

func (s *State) spreadImages(n *model.Node, sign int) {
	for i := range n.Images {
		for j, name := range n.Images[i].Names {
			if namedBefore(n.Images, i, j, name) {
				continue
			}
			sp, _ := s.images.get(name)
			sp.nodes += sign
			if sp.nodes == 0 {
				s.images.del(name)
			} else {
				s.images.put(name, sp)
			}
		}
	}
}

// namedBefore says whether a name came already before the j-th of the i-th
// image; each node counts once for a name.
func namedBefore(images []model.Image, i, j int, name string) bool {
	for k := 0; k < i; k++ {
		if slices.Contains(images[k].Names, name) {
			return true
		}
	}
	return slices.Contains(images[i].Names[:j], name)
}

func equalImage(a, b model.Image) bool { return a.Size == b.Size && slices.Equal(a.Names, b.Names) }
