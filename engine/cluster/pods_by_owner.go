package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// What is about an owner, as a Hold is, is to cost what his pods are, not all pods: State.owned has their uids.

// ownerUID is the uid of a pod's owner, as it is counted, or else as it was last reported; empty when there is none.
func (e podEntry) ownerUID() string {
	switch {
	case e.counted != nil:
		return e.counted.Owner.UID
	case e.reported != nil:
		return e.reported.Owner.UID
	}
	return ""
}

// updateOwnerIndex takes notice that a pod may have come, gone or changed its owner.
func (s *State) updateOwnerIndex(uid string, old, e podEntry) {
	was, is := old.ownerUID(), e.ownerUID()
	if was == is {
		return
	}
	if was != "" {
		uids := s.writableUIDs(was)
		if uids.del(uid); uids.len() == 0 {
			s.uidsByOwner.del(was)
		}
	}
	if is != "" {
		s.writableUIDs(is).put(uid, struct{}{})
	}
}

// writableUIDs are the uids of an owner's pods, to be written to: what a fork sees, too, is copied before.
func (s *State) writableUIDs(owner string) *cowMap[struct{}] {
	uids, known := s.uidsByOwner.get(owner)
	if known && uids.owner == s.owner {
		return uids
	}
	own := cowMap[struct{}]{}
	if known {
		own = *uids
	}
	own.owner, own.shards = s.owner, slices.Clone(own.shards)
	s.uidsByOwner.put(owner, &own)
	return &own
}

// assignedPodsOf are the pods of an owner that take room, by uid.
func (s *State) assignedPodsOf(namespace, ownerUID string) []*model.Pod {
	return s.ownedBy(namespace, ownerUID, func(e podEntry) *model.Pod { return e.counted })
}

// PendingPodsOf are the pods of an owner that take no room and have not finished, by uid.
func (s *State) PendingPodsOf(namespace, ownerUID string) []*model.Pod {
	return s.ownedBy(namespace, ownerUID, func(e podEntry) *model.Pod {
		if e.counted != nil || e.reported.Finished() {
			return nil
		}
		return e.reported
	})
}

func (s *State) ownedBy(namespace, ownerUID string, pick func(podEntry) *model.Pod) []*model.Pod {
	uids, known := s.uidsByOwner.get(ownerUID)
	if !known {
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
