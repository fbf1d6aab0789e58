package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// State.uidsByOwner makes operations on one owner, such as for a Hold, independent of the
// total number of pods.

// ownerUID returns the UID of the pod's owner, as assigned or else as last reported; "" if
// there is none.
func (e podEntry) ownerUID() string {
	switch {
	case e.counted != nil:
		return e.counted.Owner.UID
	case e.reported != nil:
		return e.reported.Owner.UID
	}
	return ""
}

// updateOwnerIndex updates the index for a pod that was added, deleted or changed its
// owner.
func (s *State) updateOwnerIndex(uid string, old, e podEntry) {
	oldUID, newUID := old.ownerUID(), e.ownerUID()
	if oldUID == newUID {
		return
	}
	if oldUID != "" {
		uids := s.writableUIDs(oldUID)
		if uids.del(uid); uids.len() == 0 {
			s.uidsByOwner.del(oldUID)
		}
	}
	if newUID != "" {
		s.writableUIDs(newUID).put(uid, struct{}{})
	}
}

// writableUIDs returns the UIDs of an owner's pods for writing; data shared with a fork is
// copied first.
func (s *State) writableUIDs(owner string) *cowMap[struct{}] {
	uids, ok := s.uidsByOwner.get(owner)
	if ok && uids.owner == s.owner {
		return uids
	}
	writable := cowMap[struct{}]{}
	if ok {
		writable = *uids
	}
	writable.owner, writable.shards = s.owner, slices.Clone(writable.shards)
	s.uidsByOwner.put(owner, &writable)
	return &writable
}

// assignedPodsOf returns the assigned pods of an owner, sorted by UID.
func (s *State) assignedPodsOf(namespace, ownerUID string) []*model.Pod {
	return s.ownedBy(namespace, ownerUID, func(e podEntry) *model.Pod { return e.counted })
}

// PendingPodsOf returns the pods of an owner that are neither assigned nor finished,
// sorted by UID.
func (s *State) PendingPodsOf(namespace, ownerUID string) []*model.Pod {
	return s.ownedBy(namespace, ownerUID, func(e podEntry) *model.Pod {
		if e.counted != nil || e.reported.Finished() {
			return nil
		}
		return e.reported
	})
}

func (s *State) ownedBy(namespace, ownerUID string, pick func(podEntry) *model.Pod) []*model.Pod {
	uids, ok := s.uidsByOwner.get(ownerUID)
	if !ok {
		return nil
	}
	var out []*model.Pod
	for _, uid := range uids.keys() {
		e, _ := s.pods.get(uid)
		if p := pick(e); p != nil && p.Namespace == namespace {
			out = append(out, p)
		}
	}
	return out
}
