package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// Nominated are the pods that take no room yet and are nominated to a node,
// sorted by namespace and name; not those that are held. The slice must not be changed.
func (s *State) Nominated(id NodeID) []*model.Pod {
	if s.nominated.len() == 0 {
		return nil
	}
	list, _ := s.nominated.get(s.nodes[id].Model.Name)
	return list
}

// AnyNominated says whether a pod is nominated to any node, known or not.
func (s *State) AnyNominated() bool { return s.nominated.len() > 0 }

// AnyAhead says whether another pod than the one of the uid, of at least the
// given priority, is nominated to a node that is known.
func (s *State) AnyAhead(uid string, priority int32) bool {
	if s.nominated.len() == 0 {
		return false
	}
	for i := range s.nominated.shards {
		for node, list := range s.nominated.shards[i].m { // any; the order does not matter
			if _, known := s.ids.get(node); !known {
				continue
			}
			for _, p := range list {
				if p.UID != uid && p.Spec.Priority >= priority {
					return true
				}
			}
		}
	}
	return false
}

// AppendNominatedNodes appends the known nodes to which pods are nominated, in
// no particular order.
func (s *State) AppendNominatedNodes(to []NodeID) []NodeID {
	for i := range s.nominated.shards {
		for node := range s.nominated.shards[i].m {
			if id, known := s.ids.get(node); known {
				to = append(to, id)
			}
		}
	}
	return to
}

// NominatedNodes are the names of nodes, known or not, to which pods are
// nominated, sorted.
func (s *State) NominatedNodes() []string { return s.nominated.keys() }

// holdsRoom says whether a pod counts on the node that it is nominated to. One
// that is held by a scheduling gate or a device claim does not, as nobody is
// going to place it.
func holdsRoom(p *model.Pod) bool {
	return p != nil && p.Nominated != "" && p.NodeName == "" && !p.Finished() && len(p.Spec.Gates)+len(p.Spec.ResourceClaims) == 0
}

func (s *State) nominate(p *model.Pod) {
	if !holdsRoom(p) {
		return
	}
	list, _ := s.nominated.get(p.Nominated)
	s.nominated.put(p.Nominated, insertPod(slices.Clone(list), p, byKey))
}

func (s *State) denominate(p *model.Pod) {
	if !holdsRoom(p) {
		return
	}
	list, _ := s.nominated.get(p.Nominated)
	putOrDel(&s.nominated, p.Nominated, deletePod(slices.Clone(list), p, byKey))
}
