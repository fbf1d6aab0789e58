package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// imageSpread is the distribution of an image over nodes. It is immutable and replaced on
// change.
type imageSpread struct {
	nodes int
	// first is the first node by name that has the image; if it is empty, ImageSize searches
	// again.
	first string
	size  int64 // size of the image on that node
}

// ImageNodes returns the number of nodes that have an image with the normalized name.
func (s *State) ImageNodes(name string) int {
	sp, _ := s.images.get(name)
	return sp.nodes
}

// ImageSize returns the size of an image in bytes, or 0 if no node has it. kube-scheduler
// uses the size of the first node that reports an image. Here that is the first by name,
// so that the result does not depend on the order of arrival.
func (s *State) ImageSize(name string) int64 {
	sp, ok := s.images.get(name)
	if !ok {
		return 0
	}
	if sp.first == "" {
		for _, id := range s.NodeIDs() {
			if size, ok := imageSize(s.nodes[id].Model, name); ok {
				sp.first, sp.size = s.nodes[id].Model.Name, size
				s.images.put(name, sp)
				break
			}
		}
	}
	return sp.size
}

// ImageSpread returns ImageNodes and ImageSize.
func (s *State) ImageSpread(name string) (nodes int, size int64) {
	sp, ok := s.images.get(name)
	if ok && sp.first == "" {
		sp.size = s.ImageSize(name)
	}
	return sp.nodes, sp.size
}

// HasImage reports whether the node has an image with the normalized name.
func (n *NodeInfo) HasImage(name string) bool {
	_, ok := imageSize(n.Model, name)
	return ok
}

func imageSize(n *model.Node, name string) (size int64, ok bool) {
	for i := range n.Images {
		if slices.Contains(n.Images[i].Names, name) {
			return n.Images[i].Size, true
		}
	}
	return 0, false
}

func (s *State) addImages(n *model.Node) {
	for i := range n.Images {
		for j, name := range n.Images[i].Names {
			if isRepeatedName(n.Images, i, j, name) {
				continue
			}
			sp, ok := s.images.get(name)
			sp.nodes++
			if !ok || (sp.first != "" && n.Name < sp.first) {
				sp.first, sp.size = n.Name, n.Images[i].Size
			}
			s.images.put(name, sp)
		}
	}
}

func (s *State) removeImages(n *model.Node) {
	for i := range n.Images {
		for j, name := range n.Images[i].Names {
			if isRepeatedName(n.Images, i, j, name) {
				continue
			}
			sp, _ := s.images.get(name)
			sp.nodes--
			if sp.first == n.Name {
				sp.first, sp.size = "", 0
			}
			if sp.nodes == 0 {
				s.images.del(name)
			} else {
				s.images.put(name, sp)
			}
		}
	}
}

// isRepeatedName reports whether a name occurs before the j-th name of the i-th image. A
// node counts once for each name.
func isRepeatedName(images []model.Image, i, j int, name string) bool {
	for k := 0; k < i; k++ {
		if slices.Contains(images[k].Names, name) {
			return true
		}
	}
	return slices.Contains(images[i].Names[:j], name)
}

func equalImage(a, b model.Image) bool { return a.Size == b.Size && slices.Equal(a.Names, b.Names) }
