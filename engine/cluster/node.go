package cluster

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// NodeInfo is a node with its assigned pods. It must not be changed and is valid until the
// State changes.
type NodeInfo struct {
	ID    NodeID
	Model *model.Node
	// NameHash is Hash64(0, name), the position of the node in the ring that breaks ties.
	NameHash uint64
	// Pods are the assigned pods, including assumed ones, sorted by UID, with NodeName set.
	// Finished pods are not included.
	Pods []*model.Pod
	// Used is the sum of the Requests of the pods; Scalars are sorted by name without zeros.
	// Scoring is the sum of their Scoring.
	Used, Scoring model.Resources
	// Ports are the host ports of the pods in no particular order; a port used by two pods
	// occurs twice.
	Ports []model.HostPort

	owner *token
}

// NodeID returns the ID of a node by name.
func (s *State) NodeID(name string) (NodeID, bool) { return s.ids.get(name) }

// Node returns a node by ID; nil if the ID is not in use.
func (s *State) Node(id NodeID) *NodeInfo {
	if id < 0 || int(id) >= len(s.nodes) {
		return nil
	}
	return s.nodes[id]
}

// NumNodes returns the number of nodes.
func (s *State) NumNodes() int { return s.ids.len() }

// NodeIDs returns the IDs of all nodes, sorted by node name. The slice must not be changed
// and stays valid.
func (s *State) NodeIDs() []NodeID {
	if s.sorted == nil {
		out := make([]NodeID, 0, s.ids.len())
		for id, n := range s.nodes {
			if n != nil {
				out = append(out, NodeID(id))
			}
		}
		slices.SortFunc(out, func(a, b NodeID) int {
			return cmp.Compare(s.nodes[a].Model.Name, s.nodes[b].Model.Name)
		})
		s.sorted = out
	}
	return s.sorted
}

// UpsertNode adds or updates a node. Pods that were reported before a new node are counted.
func (s *State) UpsertNode(n *model.Node) {
	s.revision++
	if id, ok := s.ids.get(n.Name); ok {
		info := s.writableNode(id)
		old := info.Model
		info.Model = n
		if !slices.EqualFunc(old.Images, n.Images, equalImage) {
			s.removeImages(old)
			s.addImages(n)
		}
		s.index.nodeChanged(info, old)
		return
	}
	id := NodeID(len(s.nodes))
	if k := len(s.free); k > 0 {
		id = s.free[k-1]
		s.free = s.free[:k-1]
	} else {
		s.nodes = append(s.nodes, nil)
	}
	info := &NodeInfo{ID: id, Model: n, NameHash: Hash64(0, n.Name), owner: s.owner}
	s.nodes[id] = info
	s.ids.put(n.Name, id)
	s.sorted = nil
	s.addImages(n)
	s.index.nodeAdded(info)
	pods, _ := s.unknownNodePods.get(n.Name)
	s.unknownNodePods.del(n.Name)
	for _, p := range pods {
		s.addPodToNode(id, p)
	}
}

// RemoveNode deletes a node. Its pods remain in case a node of that name is added.
func (s *State) RemoveNode(name string) {
	id, ok := s.ids.get(name)
	if !ok {
		return
	}
	s.revision++
	info := s.nodes[id]
	pods := slices.Clone(info.Pods)
	for _, p := range pods {
		s.removePodFromNode(id, p)
	}
	if len(pods) > 0 {
		s.unknownNodePods.put(name, pods)
	}
	s.index.nodeRemoved(s.nodes[id])
	s.removeImages(info.Model)
	s.nodes[id] = nil
	s.free = append(s.free, id)
	s.ids.del(name)
	s.sorted = nil
}

// writableNode makes a NodeInfo exclusive to this State.
func (s *State) writableNode(id NodeID) *NodeInfo {
	info := s.nodes[id]
	if info.owner == s.owner {
		return info
	}
	c := *info
	c.owner = s.owner
	c.Pods = slices.Clone(info.Pods)
	c.Ports = slices.Clone(info.Ports)
	c.Used.Scalars = slices.Clone(info.Used.Scalars)
	c.Scoring.Scalars = slices.Clone(info.Scoring.Scalars)
	s.nodes[id] = &c
	return &c
}
