package cluster

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// NodeInfo is a node with what is counted on it. It must not be changed, and
// is valid until the State changes.
type NodeInfo struct {
	ID    NodeID
	Model *model.Node
	// NameHash is Hash64(0, name): the node's place in the order that breaks ties.
	NameHash uint64
	// Pods are the assigned and the assumed pods, sorted by uid; NodeName is set
	// in both. Finished pods are not among them.
	Pods []*model.Pod
	// Used is the sum of the pods' Requests; Scalars are sorted by name and none
	// is zero. Scoring is the sum of their Scoring.
	Used, Scoring model.Resources
	// Ports are the host ports of the pods, in no particular order; one that two
	// pods have is there twice.
	Ports []model.HostPort

	owner *token
}

// NodeID returns the slot of the named node.
func (s *State) NodeID(name string) (NodeID, bool) { return s.ids.get(name) }

// Node returns a node by slot; nil when the slot is free.
func (s *State) Node(id NodeID) *NodeInfo {
	if id < 0 || int(id) >= len(s.nodes) {
		return nil
	}
	return s.nodes[id]
}

// NumNodes is the number of nodes.
func (s *State) NumNodes() int { return s.ids.len() }

// NodeIDs are the slots of all nodes, sorted by node name. The slice must not
// be changed; later changes of the State make a new one.
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

// UpsertNode adds a node or replaces what is known of it. Pods that were
// waiting for it are counted.
func (s *State) UpsertNode(n *model.Node) {
	s.revision++
	if id, ok := s.ids.get(n.Name); ok {
		info := s.writableNode(id)
		old := info.Model
		info.Model = n
		if !slices.EqualFunc(old.Images, n.Images, equalImage) {
			s.dropImages(old)
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
	waiting, _ := s.unknownNodePods.get(n.Name)
	s.unknownNodePods.del(n.Name)
	for _, p := range waiting {
		s.addPodToNode(id, p)
	}
}

// RemoveNode forgets a node. Its pods are kept aside.
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
	s.dropImages(info.Model)
	s.nodes[id] = nil
	s.free = append(s.free, id)
	s.ids.del(name)
	s.sorted = nil
}

// writableNode makes a node's info writable by this State.
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
