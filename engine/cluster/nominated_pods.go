package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// nominatedPods are the pods nominated to a node, sorted by namespace and name.
type nominatedPods struct {
	owner *token // State that may change the list in place
	pods  []*model.Pod
}

// Nominated returns the unassigned pods nominated to a node and the placeholders of its reservations, sorted by
// namespace and name. It omits gated pods and pods with resource claims. The slice must not be changed and is valid
// until the State changes.
func (s *State) Nominated(id NodeID) []*model.Pod {
	if s.nominated.len() == 0 {
		return nil
	}
	n, _ := s.nominated.get(s.nodes[id].Model.Name)
	return n.pods
}

// AnyNominated reports whether any pod is nominated.
func (s *State) AnyNominated() bool { return s.nominated.len() > 0 }

// NominationCounts reports whether the resources of a nominated pod count when pod is placed. They
// count if it is another pod of at least the same priority, and not a placeholder for pods of the
// same owner.
func NominationCounts(nominated, pod *model.Pod) bool {
	return nominated.Spec.Priority >= pod.Spec.Priority && nominated.UID != pod.UID && !(nominated.Placeholder && sameOwner(nominated, pod))
}

func sameOwner(a, b *model.Pod) bool { return a.Owner.UID == b.Owner.UID && a.Namespace == b.Namespace }

// AnyNominationCounts reports whether a pod whose nomination counts for the given pod is
// nominated to a known node.
func (s *State) AnyNominationCounts(pod *model.Pod) bool {
	if s.nominated.len() == 0 {
		return false
	}
	for i := range s.nominated.shards {
		for node, list := range s.nominated.shards[i].m { // the order does not matter
			if _, ok := s.ids.get(node); !ok {
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

// AppendNominatedNodes appends to dst the known nodes with nominated pods in no particular order.
func (s *State) AppendNominatedNodes(dst []NodeID) []NodeID {
	for i := range s.nominated.shards {
		for node := range s.nominated.shards[i].m {
			if id, ok := s.ids.get(node); ok {
				dst = append(dst, id)
			}
		}
	}
	return dst
}

// isNominated reports whether a pod counts on its nominated node. A gated pod or one with
// resource claims does not, because the scheduler does not place it.
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

// replaceNomination replaces a version of a pod with another, if both are nominated to the
// same node. It reports whether it did.
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

// writableNominated returns the pods nominated to a node in a list that may be changed.
func (s *State) writableNominated(node string) nominatedPods {
	n, _ := s.nominated.get(node)
	if n.owner != s.owner {
		n = nominatedPods{s.owner, slices.Clone(n.pods)}
	}
	return n
}

// logNode logs a change of the pods nominated to a node. No counter of the index includes nominations.
func (s *State) logNode(name string) {
	if id, ok := s.ids.get(name); ok {
		s.index.logUncounted(id)
	}
}
