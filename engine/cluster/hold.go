package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// holds are the Holds that have neither expired nor been deleted. The State has no clock;
// its owner calls ExpireHolds.
type holds struct {
	all      cowMap[*model.Hold] // by "namespace/name"
	owners   cowMap[*holdOwner]  // by namespace and owner UID
	next     time.Time           // first expiry; zero if there is none
	released []*model.Pod        // see TakeReleased
}

// holdOwner is an owner that has Holds. It is immutable and replaced on change.
type holdOwner struct {
	holds    []*model.Hold // sorted by name
	assigned []*model.Pod  // assigned pods of the owner, sorted by UID
	// unused are the placeholders of unused reservations, sorted by the name of the Hold.
	unused []*model.Pod
}

// HoldName returns the name of the Hold of a type for an owner's pods on a node.
func HoldName(ownerUID, node string, t model.HoldType) string {
	return fmt.Sprintf("%s-%016x", strings.ToLower(t.String()), Hash64(0, ownerUID+"\x00"+node+"\x00"+t.String()))
}

func (h *holds) fork(oldOwner, newOwner *token) holds {
	return holds{all: h.all.fork(oldOwner, newOwner), owners: h.owners.fork(oldOwner, newOwner), next: h.next}
}

func holdOwnerKey(namespace, uid string) string { return namespace + "/" + uid }

// UpsertHold adds or replaces a Hold.
func (s *State) UpsertHold(h *model.Hold) {
	if old, ok := s.holds.all.get(h.Key()); ok {
		s.deleteHold(old)
		defer s.updateNextHoldExpiry(old.Until)
	}
	s.revision++
	s.holds.all.put(h.Key(), h)
	key := holdOwnerKey(h.Namespace, h.Owner.UID)
	c := holdOwner{}
	if old, ok := s.holds.owners.get(key); ok {
		c = *old
	} else {
		c.assigned = s.assignedPodsOf(h.Namespace, h.Owner.UID)
	}
	i, _ := slices.BinarySearchFunc(c.holds, h, byHoldName)
	c.holds = slices.Insert(slices.Clone(c.holds), i, h)
	s.updateReservations(key, &c)
	if s.holds.next.IsZero() || h.Until.Before(s.holds.next) {
		s.holds.next = h.Until
	}
}

// RemoveHold deletes a Hold and returns it; nil if it does not exist.
func (s *State) RemoveHold(namespace, name string) *model.Hold {
	h, ok := s.holds.all.get(namespace + "/" + name)
	if !ok {
		return nil
	}
	s.deleteHold(h)
	s.updateNextHoldExpiry(h.Until)
	return h
}

// RemoveHolds deletes the Holds for which drop returns true, and returns them sorted by
// namespace and name. It visits each Hold once.
func (s *State) RemoveHolds(drop func(*model.Hold) bool) []*model.Hold {
	var out []*model.Hold
	for _, h := range s.Holds() {
		if drop(h) {
			s.deleteHold(h)
			out = append(out, h)
		}
	}
	if len(out) > 0 {
		s.findNextHoldExpiry()
	}
	return out
}

// deleteHold deletes a Hold. The caller updates the next expiry.
func (s *State) deleteHold(h *model.Hold) {
	s.revision++
	s.holds.all.del(h.Key())
	key := holdOwnerKey(h.Namespace, h.Owner.UID)
	old, _ := s.holds.owners.get(key)
	c := *old
	if i, found := slices.BinarySearchFunc(c.holds, h, byHoldName); found {
		c.holds = slices.Delete(slices.Clone(c.holds), i, i+1)
	}
	s.updateReservations(key, &c)
}

// ExpireHolds deletes the Holds that have expired by now, and returns them sorted by
// namespace and name.
func (s *State) ExpireHolds(now time.Time) []*model.Hold {
	if s.holds.next.IsZero() || s.holds.next.After(now) {
		return nil
	}
	return s.RemoveHolds(func(h *model.Hold) bool { return !h.Until.After(now) })
}

// NextHoldExpiry returns the time at which the first Hold expires; false if there is none.
func (s *State) NextHoldExpiry() (time.Time, bool) { return s.holds.next, !s.holds.next.IsZero() }

// updateNextHoldExpiry recomputes the first expiry if a Hold with that expiry may have been
// the first.
func (s *State) updateNextHoldExpiry(expiry time.Time) {
	if !expiry.After(s.holds.next) {
		s.findNextHoldExpiry()
	}
}

// findNextHoldExpiry recomputes the first expiry from all Holds.
func (s *State) findNextHoldExpiry() {
	s.holds.next = time.Time{}
	for i := range s.holds.all.shards {
		for _, h := range s.holds.all.shards[i].m { // minimum; the order does not matter
			if s.holds.next.IsZero() || h.Until.Before(s.holds.next) {
				s.holds.next = h.Until
			}
		}
	}
}

// Hold returns a Hold that has not expired.
func (s *State) Hold(namespace, name string) (*model.Hold, bool) {
	return s.holds.all.get(namespace + "/" + name)
}

// Holds returns all Holds that have not expired, sorted by namespace and name.
func (s *State) Holds() []*model.Hold {
	var out []*model.Hold
	for _, key := range s.holds.all.keys() {
		h, _ := s.holds.all.get(key)
		out = append(out, h)
	}
	return out
}

// HoldsOf returns the Holds of an owner, sorted by name. The slice must not be changed.
func (s *State) HoldsOf(namespace, ownerUID string) []*model.Hold {
	if s.holds.owners.len() == 0 || ownerUID == "" {
		return nil
	}
	c, ok := s.holds.owners.get(holdOwnerKey(namespace, ownerUID))
	if !ok {
		return nil
	}
	return c.holds
}

func byHoldName(a, b *model.Hold) int { return cmp.Compare(a.Name, b.Name) }
