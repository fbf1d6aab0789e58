package cluster

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// entered takes notice that a pod takes room.
func (h *holds) entered(s *State, p *model.Pod) {
	h.placedChanged(s, p, func(list []*model.Pod) []*model.Pod { return insertPod(list, p, byUID) })
}

// left takes notice that a pod takes no room any more.
func (h *holds) left(s *State, p *model.Pod) {
	h.placedChanged(s, p, func(list []*model.Pod) []*model.Pod { return deletePod(list, p, byUID) })
}

func (h *holds) placedChanged(s *State, p *model.Pod, change func([]*model.Pod) []*model.Pod) {
	if h.claimants.len() == 0 || p.Owner.UID == "" {
		return
	}
	key := claimantKey(p.Namespace, p.Owner.UID)
	old, known := h.claimants.get(key)
	if !known {
		return
	}
	c := *old
	c.placed = change(slices.Clone(c.placed))
	s.settle(key, &c)
}

// settle puts a claimant into place: works out which reservations are used up, and
// nominates the phantoms of the others.
func (s *State) settle(key string, c *claimant) {
	was := c.live
	c.live = unused(c.holds, c.placed)
	for _, p := range was {
		if !slices.Contains(c.live, p) {
			s.denominate(p)
			s.holds.released = append(s.holds.released, p)
		}
	}
	for _, p := range c.live {
		if !slices.Contains(was, p) {
			s.nominate(p)
		}
	}
	if len(c.holds) == 0 {
		s.holds.claimants.del(key)
		return
	}
	s.holds.claimants.put(key, c)
}

// replaces says whether a pod is one that a reservation was made for: not the victim, not older than the
// reservation, and of a StatefulSet's pods the victim's namesake.
func replaces(p *model.Pod, h *model.Hold) bool {
	return p.UID != h.Victim && !p.Created.Before(h.Created) && (h.Owner.Kind != "StatefulSet" || h.VictimName == "" || h.VictimName == p.Name)
}

// unused are the phantoms of the reservations that no pod has used up. A pod that replaces the
// victim uses up one: on its own node if there is one, else the first by name, since the replacement has
// found another place.
func unused(list []*model.Hold, placed []*model.Pod) []*model.Pod {
	var open []*model.Hold
	for _, h := range list {
		if h.Type == model.Reserve && h.Phantom != nil {
			open = append(open, h)
		}
	}
	if len(open) == 0 {
		return nil
	}
	pods := slices.Clone(placed)
	slices.SortStableFunc(pods, func(a, b *model.Pod) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID)) })
	var elsewhere []*model.Pod
	for _, p := range pods {
		i := slices.IndexFunc(open, func(h *model.Hold) bool { return h.Node == p.NodeName && replaces(p, h) })
		if i < 0 {
			elsewhere = append(elsewhere, p)
			continue
		}
		open = slices.Delete(open, i, i+1)
	}
	for _, p := range elsewhere {
		if i := slices.IndexFunc(open, func(h *model.Hold) bool { return replaces(p, h) }); i >= 0 {
			open = slices.Delete(open, i, i+1)
		}
	}
	var out []*model.Pod
	for _, h := range open {
		out = append(out, h.Phantom)
	}
	return out
}

// Released are the phantoms that keep no room any more since it was asked last: their
// reservation was used up, has ended or was removed.
func (s *State) Released() []*model.Pod {
	out := s.holds.released
	s.holds.released = nil
	return out
}

// AppendReserved appends the known nodes that are held for a pod that has none: it is the first replacement of a pod that
// left, and has not used up the reservation. In the order of the holds' names.
func (s *State) AppendReserved(to []NodeID, pod *model.Pod) []NodeID {
	if s.holds.claimants.len() == 0 || pod.Owner.UID == "" || pod.NodeName != "" {
		return to
	}
	c, known := s.holds.claimants.get(claimantKey(pod.Namespace, pod.Owner.UID))
	if !known || len(c.live) == 0 {
		return to
	}
	for _, h := range c.holds {
		if h.Phantom == nil || !slices.Contains(c.live, h.Phantom) || !replaces(pod, h) {
			continue
		}
		if id, known := s.ids.get(h.Node); known {
			to = append(to, id)
		}
	}
	return to
}

// Avoids is the hold that keeps a pod off a node; nil when there is none.
func (s *State) Avoids(pod *model.Pod, node string) *model.Hold {
	for _, h := range s.HoldsOf(pod.Namespace, pod.Owner.UID) {
		if h.Type == model.Avoid && h.Node == node {
			return h
		}
	}
	return nil
}

// AnyAvoid says whether a pod is to be kept off some node.
func (s *State) AnyAvoid(pod *model.Pod) bool {
	return slices.ContainsFunc(s.HoldsOf(pod.Namespace, pod.Owner.UID), func(h *model.Hold) bool { return h.Type == model.Avoid })
}
