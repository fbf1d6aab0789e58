package cluster

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// podEntry is the state of a pod. It is zero for an unknown pod.
type podEntry struct {
	// reported is the pod as last reported; nil if it is only assumed.
	reported *model.Pod
	// counted is the assigned pod, with NodeName set. It is reported itself if the pod is bound, a
	// copy if it is assumed, and nil if it is not assigned.
	counted *model.Pod
	assumed bool
}

func (e podEntry) exists() bool { return e.reported != nil || e.counted != nil }

// UpsertPod adds or updates a pod. A bound pod is assigned to its node unless it has
// finished; this confirms an assumption. An assumed pod that is reported without a node
// stays assumed.
func (s *State) UpsertPod(p *model.Pod) {
	s.revision++
	old, _ := s.pods.get(p.UID)
	e := podEntry{reported: p}
	if p.Finished() || p.NodeName != "" {
		s.ForgetVolumes(p.UID)
	}
	switch {
	case p.Finished():
	case p.NodeName != "":
		e.counted = p
	case old.assumed:
		e.counted, e.assumed = withNodeName(p, old.counted.NodeName), true
	}
	s.replace(p.UID, old, e)
}

// RemovePod deletes a pod, assumed or not.
func (s *State) RemovePod(uid string) {
	s.ForgetVolumes(uid)
	old, ok := s.pods.get(uid)
	if !ok {
		return
	}
	s.revision++
	s.replace(uid, old, podEntry{})
}

// Assume assigns an unbound pod to a node until it is reported as bound or forgotten.
func (s *State) Assume(p *model.Pod, node string) error {
	if _, ok := s.ids.get(node); !ok {
		return fmt.Errorf("pod %s cannot be assumed on node %q: no such node", p.Key(), node)
	}
	old, _ := s.pods.get(p.UID)
	if p.Finished() {
		return fmt.Errorf("pod %s cannot be assumed on node %q: it has finished", p.Key(), node)
	}
	if old.counted != nil {
		return fmt.Errorf("pod %s cannot be assumed on node %q: it is assigned to node %q",
			p.Key(), node, old.counted.NodeName)
	}
	s.revision++
	s.replace(p.UID, old, podEntry{reported: old.reported, counted: withNodeName(p, node), assumed: true})
	return nil
}

// Forget ends the assumption of a pod and its volumes. It does nothing for other pods.
func (s *State) Forget(uid string) {
	s.ForgetVolumes(uid)
	old, ok := s.pods.get(uid)
	if !ok || !old.assumed {
		return
	}
	s.revision++
	s.replace(uid, old, podEntry{reported: old.reported})
}

// Pod returns a pod by UID: as it is assigned, or else as last reported; nil if it is
// unknown.
func (s *State) Pod(uid string) *model.Pod {
	e, ok := s.pods.get(uid)
	switch {
	case !ok:
		return nil
	case e.counted != nil:
		return e.counted
	}
	return e.reported
}

// Assumed reports whether a pod is assumed, that is, assigned but not reported as bound.
func (s *State) Assumed(uid string) bool {
	e, ok := s.pods.get(uid)
	return ok && e.assumed
}

func withNodeName(p *model.Pod, node string) *model.Pod {
	copied := *p
	copied.NodeName = node
	return &copied
}

// replace replaces the entry of a pod and updates everything derived from it.
func (s *State) replace(uid string, old, e podEntry) {
	s.addToCounts(old, -1)
	s.addToCounts(e, 1)
	s.updateOwnerIndex(uid, old, e)
	if old.counted != nil && e.counted != nil && countsEqual(old.counted, e.counted) {
		s.pods.put(uid, e)
		s.replaceCounted(old.counted, e.counted)
		return
	}
	if old.counted == nil && e.counted == nil && s.replaceNomination(old.reported, e.reported) {
		s.pods.put(uid, e)
		return
	}
	if old.counted != nil {
		s.unassignPod(old.counted)
	} else {
		s.removeNomination(old.reported)
	}
	if !e.exists() {
		s.pods.del(uid)
		return
	}
	s.pods.put(uid, e)
	if e.counted != nil {
		s.assignPod(e.counted)
	} else {
		s.addNomination(e.reported)
	}
}

// addToCounts adds an entry to the pod counts, or subtracts it.
func (s *State) addToCounts(e podEntry, n int) {
	if e.counted == nil {
		return
	}
	s.counted += n
	if e.assumed {
		s.assumed += n
	}
}

// PodCounts returns the number of assigned pods, and how many of them are only assumed.
func (s *State) PodCounts() (counted, assumed int) { return s.counted, s.assumed }

// countsEqual reports whether two versions of a pod are equal in everything that is
// counted. Most updates only change the status.
func countsEqual(a, b *model.Pod) bool {
	return a.NodeName == b.NodeName && a.Spec == b.Spec && a.Deleting == b.Deleting &&
		a.Namespace == b.Namespace && a.Owner.UID == b.Owner.UID && slices.Equal(a.Labels, b.Labels)
}

// replaceCounted replaces a version of a pod with another for which countsEqual is true.
func (s *State) replaceCounted(old, p *model.Pod) {
	var list *[]*model.Pod
	if id, ok := s.ids.get(p.NodeName); ok {
		list = &s.writableNode(id).Pods
		if old.Ready != p.Ready || !old.Started.Equal(p.Started) {
			s.index.logUncounted(id)
		}
	} else {
		pods, _ := s.unknownNodePods.get(p.NodeName)
		pods = slices.Clone(pods)
		s.unknownNodePods.put(p.NodeName, pods)
		list = &pods
	}
	if i, ok := slices.BinarySearchFunc(*list, old, byUID); ok {
		(*list)[i] = p
	}
	for i := range p.Spec.Claims {
		key := p.Namespace + "/" + p.Spec.Claims[i].Claim
		users, _ := s.claimUsers.get(key)
		if j, ok := slices.BinarySearchFunc(users, old, byUID); ok {
			users = slices.Clone(users)
			users[j] = p
			s.claimUsers.put(key, users)
		}
	}
}

// assignPod adds a pod to its node, or stores it until the node is added.
func (s *State) assignPod(p *model.Pod) {
	s.holds.podAssigned(s, p)
	if id, ok := s.ids.get(p.NodeName); ok {
		s.addPodToNode(id, p)
		return
	}
	list, _ := s.unknownNodePods.get(p.NodeName)
	s.unknownNodePods.put(p.NodeName, insertPod(slices.Clone(list), p, byUID))
}

// unassignPod reverts assignPod.
func (s *State) unassignPod(p *model.Pod) {
	s.holds.podUnassigned(s, p)
	if id, ok := s.ids.get(p.NodeName); ok {
		s.removePodFromNode(id, p)
		return
	}
	list, _ := s.unknownNodePods.get(p.NodeName)
	putOrDel(&s.unknownNodePods, p.NodeName, deletePod(slices.Clone(list), p, byUID))
}

func byUID(a, b *model.Pod) int { return cmp.Compare(a.UID, b.UID) }

// byKey orders pods by namespace, name and UID.
func byKey(a, b *model.Pod) int {
	if c := cmp.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return cmp.Compare(a.UID, b.UID)
}

// insertPod inserts a pod into a sorted list in place.
func insertPod(list []*model.Pod, p *model.Pod, order func(a, b *model.Pod) int) []*model.Pod {
	i, _ := slices.BinarySearchFunc(list, p, order)
	return slices.Insert(list, i, p)
}

// deletePod deletes a pod from a sorted list in place.
func deletePod(list []*model.Pod, p *model.Pod, order func(a, b *model.Pod) int) []*model.Pod {
	if i, ok := slices.BinarySearchFunc(list, p, order); ok {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// putOrDel stores a list, or deletes the key of an empty one.
func putOrDel(t *cowMap[[]*model.Pod], key string, list []*model.Pod) {
	if len(list) == 0 {
		t.del(key)
		return
	}
	t.put(key, list)
}
