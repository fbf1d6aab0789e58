package cluster

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// podAssigned records that a pod was assigned.
func (h *holds) podAssigned(s *State, p *model.Pod) {
	h.updateAssigned(s, p, func(list []*model.Pod) []*model.Pod { return insertPod(list, p, byUID) })
}

// podUnassigned records that a pod is no longer assigned.
func (h *holds) podUnassigned(s *State, p *model.Pod) {
	h.updateAssigned(s, p, func(list []*model.Pod) []*model.Pod { return deletePod(list, p, byUID) })
}

func (h *holds) updateAssigned(s *State, p *model.Pod, change func([]*model.Pod) []*model.Pod) {
	if h.owners.len() == 0 || p.Owner.UID == "" {
		return
	}
	key := holdOwnerKey(p.Namespace, p.Owner.UID)
	old, ok := h.owners.get(key)
	if !ok {
		return
	}
	c := *old
	c.assigned = change(slices.Clone(c.assigned))
	s.updateReservations(key, &c)
}

// updateReservations stores an owner and determines its unused reservations. It nominates their
// placeholders, and releases those of the other reservations.
func (s *State) updateReservations(key string, c *holdOwner) {
	previous := c.unused
	c.unused = unusedPlaceholders(c.holds, c.assigned)
	for _, p := range previous {
		if !slices.Contains(c.unused, p) {
			s.removeNomination(p)
			s.holds.released = append(s.holds.released, p)
		}
	}
	for _, p := range c.unused {
		if !slices.Contains(previous, p) {
			s.addNomination(p)
		}
	}
	if len(c.holds) == 0 {
		s.holds.owners.del(key)
		return
	}
	s.holds.owners.put(key, c)
}

// isReplacement reports whether a pod may use the reservation of a Hold. It must not be the
// victim or older than the Hold. In a StatefulSet it must have the name of the victim.
func isReplacement(p *model.Pod, h *model.Hold) bool {
	return p.UID != h.Victim && !p.Created.Before(h.Created) && (h.Owner.Kind != "StatefulSet" || h.VictimName == "" || h.VictimName == p.Name)
}

// unusedPlaceholders returns the placeholders of reservations that no pod has used. An assigned replacement uses the
// reservation of its node. If there is none, the first reservation by name is no longer necessary.
func unusedPlaceholders(holds []*model.Hold, assigned []*model.Pod) []*model.Pod {
	var unused []*model.Hold
	for _, h := range holds {
		if h.Type == model.Reserve && h.Placeholder != nil {
			unused = append(unused, h)
		}
	}
	if len(unused) == 0 {
		return nil
	}
	pods := slices.Clone(assigned)
	slices.SortStableFunc(pods, func(a, b *model.Pod) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID)) })
	var unmatched []*model.Pod
	for _, p := range pods {
		i := slices.IndexFunc(unused, func(h *model.Hold) bool { return h.Node == p.NodeName && isReplacement(p, h) })
		if i < 0 {
			unmatched = append(unmatched, p)
			continue
		}
		unused = slices.Delete(unused, i, i+1)
	}
	for _, p := range unmatched {
		if i := slices.IndexFunc(unused, func(h *model.Hold) bool { return isReplacement(p, h) }); i >= 0 {
			unused = slices.Delete(unused, i, i+1)
		}
	}
	var out []*model.Pod
	for _, h := range unused {
		out = append(out, h.Placeholder)
	}
	return out
}

// TakeReleased returns the placeholders released since the last call: their reservation
// was used, expired or was deleted.
func (s *State) TakeReleased() []*model.Pod {
	out := s.holds.released
	s.holds.released = nil
	return out
}

// AppendReserved appends to dst the nodes that Holds reserve for an unassigned replacement pod,
// in the order of the names of the Holds.
func (s *State) AppendReserved(dst []NodeID, pod *model.Pod) []NodeID {
	if s.holds.owners.len() == 0 || pod.Owner.UID == "" || pod.NodeName != "" {
		return dst
	}
	c, ok := s.holds.owners.get(holdOwnerKey(pod.Namespace, pod.Owner.UID))
	if !ok || len(c.unused) == 0 {
		return dst
	}
	for _, h := range c.holds {
		if h.Placeholder == nil || !slices.Contains(c.unused, h.Placeholder) || !isReplacement(pod, h) {
			continue
		}
		if id, ok := s.ids.get(h.Node); ok {
			dst = append(dst, id)
		}
	}
	return dst
}

// AvoidHold returns the Hold that keeps a pod off a node; nil if there is none.
func (s *State) AvoidHold(pod *model.Pod, node string) *model.Hold {
	for _, h := range s.HoldsOf(pod.Namespace, pod.Owner.UID) {
		if h.Type == model.Avoid && h.Node == node {
			return h
		}
	}
	return nil
}

// HasAvoidHold reports whether a Hold keeps a pod off some node.
func (s *State) HasAvoidHold(pod *model.Pod) bool {
	return slices.ContainsFunc(s.HoldsOf(pod.Namespace, pod.Owner.UID), func(h *model.Hold) bool { return h.Type == model.Avoid })
}
