package cluster

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// addPodToNode counts a pod on a node.
func (s *State) addPodToNode(id NodeID, p *model.Pod) {
	info := s.writableNode(id)
	info.Pods = insertPod(info.Pods, p, byUID)
	addResources(&info.Used, &p.Spec.Requests, 1)
	addResources(&info.Scoring, &p.Spec.Scoring, 1)
	info.Ports = append(info.Ports, p.Spec.Ports...)
	for i := range p.Spec.Claims {
		key := p.Namespace + "/" + p.Spec.Claims[i].Claim
		list, _ := s.claimUsers.get(key)
		if _, found := slices.BinarySearchFunc(list, p, byUID); !found { // two volumes may use the same claim
			s.claimUsers.put(key, insertPod(slices.Clone(list), p, byUID))
		}
	}
	s.index.podAdded(info, p)
}

// removePodFromNode reverts addPodToNode.
func (s *State) removePodFromNode(id NodeID, p *model.Pod) {
	info := s.writableNode(id)
	info.Pods = deletePod(info.Pods, p, byUID)
	addResources(&info.Used, &p.Spec.Requests, -1)
	addResources(&info.Scoring, &p.Spec.Scoring, -1)
	for _, port := range p.Spec.Ports {
		if i := slices.Index(info.Ports, port); i >= 0 {
			info.Ports = slices.Delete(info.Ports, i, i+1)
		}
	}
	for i := range p.Spec.Claims {
		key := p.Namespace + "/" + p.Spec.Claims[i].Claim
		list, _ := s.claimUsers.get(key)
		putOrDel(&s.claimUsers, key, deletePod(slices.Clone(list), p, byUID))
	}
	s.index.podRemoved(info, p)
}

// addResources adds sign times r to sum. Scalars stay sorted by name and without zeros, so
// that the sum does not depend on the order of additions.
func addResources(sum, r *model.Resources, sign int64) {
	sum.MilliCPU += sign * r.MilliCPU
	sum.Memory += sign * r.Memory
	sum.Ephemeral += sign * r.Ephemeral
	for i := range r.Scalars {
		sc := &r.Scalars[i]
		if sc.Amount == 0 {
			continue
		}
		j, found := slices.BinarySearchFunc(sum.Scalars, sc.Name, func(e model.Scalar, name string) int {
			return cmp.Compare(e.Name, name)
		})
		switch {
		case !found:
			sum.Scalars = slices.Insert(sum.Scalars, j, model.Scalar{Name: sc.Name, Amount: sign * sc.Amount})
		case sum.Scalars[j].Amount+sign*sc.Amount == 0:
			sum.Scalars = slices.Delete(sum.Scalars, j, j+1)
		default:
			sum.Scalars[j].Amount += sign * sc.Amount
		}
	}
}

// ClaimUsers returns the assigned pods of known nodes that use a claim, sorted by UID. The
// slice must not be changed.
func (s *State) ClaimUsers(namespace, claim string) []*model.Pod {
	list, _ := s.claimUsers.get(namespace + "/" + claim)
	return list
}
