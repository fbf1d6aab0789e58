package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// nominatedPods are the pods that are nominated to a node, by key.
type nominatedPods struct {
	owner *token // of the State that may write to the list in place
	pods  []*model.Pod
}

// Nominated are the pods that take no room yet and are nominated to a node, and
// the phantoms of what is reserved there, sorted by namespace and name; not pods that are
// held. The slice must not be changed, and holds until the next change of the State.
func (s *State) Nominated(id NodeID) []*model.Pod {
	if s.nominated.len() == 0 {
		return nil
	}
	n, _ := s.nominated.get(s.nodes[id].Model.Name)
	return n.pods
}

// AnyNominated says whether a pod is nominated to any node, known or not.
func (s *State) AnyNominated() bool { return s.nominated.len() > 0 }

// NominationCounts says whether the room of a nominee counts when another pod is placed: it
// is of at least its priority, and not reserved for the pods of the other one's owner.
func NominationCounts(nominee, pod *model.Pod) bool {
	return nominee.Spec.Priority >= pod.Spec.Priority && nominee.UID != pod.UID && !(nominee.Placeholder && sameOwner(nominee, pod))
}

func sameOwner(a, b *model.Pod) bool { return a.Owner.UID == b.Owner.UID && a.Namespace == b.Namespace }

// AnyNominationCounts says whether a pod ahead of the given one is nominated to a node that
// is known.
func (s *State) AnyNominationCounts(pod *model.Pod) bool {
	if s.nominated.len() == 0 {
		return false
	}
	for i := range s.nominated.shards {
		for node, list := range s.nominated.shards[i].m { // any; the order does not matter
			if _, known := s.ids.get(node); !known {
				continue
			}
			for _, p := range list.pods {
				if NominationCounts(p, pod) {
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

// isNominated says whether a pod counts on the node that it is nominated to. One
// that is held by a scheduling gate or a device claim does not, as nobody is
// going to place it.
func isNominated(p *model.Pod) bool {
	return p != nil && p.NominatedNodeName != "" && p.NodeName == "" && !p.Finished() && len(p.Spec.Gates)+len(p.Spec.ResourceClaims) == 0
}

func (s *State) addNomination(p *model.Pod) {
	if !isNominated(p) {
		return
	}
	n := s.writableNominated(p.NominatedNodeName)
	n.pods = insertPod(n.pods, p, byKey)
	s.nominated.put(p.NominatedNodeName, n)
	s.logNode(p.NominatedNodeName)
}

func (s *State) removeNomination(p *model.Pod) {
	if !isNominated(p) {
		return
	}
	n := s.writableNominated(p.NominatedNodeName)
	if n.pods = deletePod(n.pods, p, byKey); len(n.pods) == 0 {
		s.nominated.del(p.NominatedNodeName)
	} else {
		s.nominated.put(p.NominatedNodeName, n)
	}
	s.logNode(p.NominatedNodeName)
}

// replaceNomination puts a version of a pod in the place of another, if both are nominated to
// the same node.
func (s *State) replaceNomination(old, p *model.Pod) bool {
	if !isNominated(old) || !isNominated(p) || old.NominatedNodeName != p.NominatedNodeName || byKey(old, p) != 0 {
		return false
	}
	n := s.writableNominated(p.NominatedNodeName)
	if i, ok := slices.BinarySearchFunc(n.pods, p, byKey); ok {
		n.pods[i] = p
	}
	s.nominated.put(p.NominatedNodeName, n)
	s.logNode(p.NominatedNodeName)
	return true
}

// writableNominated are the pods nominated to a node, in a list that may be written to.
func (s *State) writableNominated(node string) nominatedPods {
	n, _ := s.nominated.get(node)
	if n.owner != s.owner {
		n = nominatedPods{s.owner, slices.Clone(n.pods)}
	}
	return n
}

// logNode logs that something about a node has changed that nothing counts.
func (s *State) logNode(name string) {
	if id, ok := s.ids.get(name); ok {
		s.index.logUncounted(id)
	}
}
