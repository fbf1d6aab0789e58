package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// What is about an owner, as a Hold is, is to cost what his pods are, not all pods: State.owned has their uids.

// owner is the uid of a pod's owner, as it is counted, or else as it was last reported; empty when there is none.
func (e podEntry) owner() string {
	switch {
	case e.counted != nil:
		return e.counted.Owner.UID
	case e.seen != nil:
		return e.seen.Owner.UID
	}
	return ""
}

// moved takes notice that a pod may have come, gone or changed its owner.
func (s *State) moved(uid string, old, e podEntry) {
	was, is := old.owner(), e.owner()
	if was == is {
		return
	}
	if was != "" {
		uids := s.ownUIDs(was)
		if uids.del(uid); uids.len() == 0 {
			s.owned.del(was)
		}
	}
	if is != "" {
		s.ownUIDs(is).put(uid, struct{}{})
	}
}

// ownUIDs are the uids of an owner's pods, to be written to: what a fork sees, too, is copied before.
func (s *State) ownUIDs(owner string) *table[struct{}] {
	uids, known := s.owned.get(owner)
	if known && uids.owner == s.owner {
		return uids
	}
	own := table[struct{}]{}
	if known {
		own = *uids
	}
	own.owner, own.shards = s.owner, slices.Clone(own.shards)
	s.owned.put(owner, &own)
	return &own
}

// podsOf are the pods of an owner that take room, by uid.
func (s *State) podsOf(namespace, ownerUID string) []*model.Pod {
	return s.ownedBy(namespace, ownerUID, func(e podEntry) *model.Pod { return e.counted })
}

// WaitingOf are the pods of an owner that take no room and have not finished, by uid.
func (s *State) WaitingOf(namespace, ownerUID string) []*model.Pod {
	return s.ownedBy(namespace, ownerUID, func(e podEntry) *model.Pod {
		if e.counted != nil || e.seen.Finished() {
			return nil
		}
		return e.seen
	})
}

func (s *State) ownedBy(namespace, ownerUID string, pick func(podEntry) *model.Pod) []*model.Pod {
	uids, known := s.owned.get(ownerUID)
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
