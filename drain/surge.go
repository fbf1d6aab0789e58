package drain

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

type (
	// SurgeUp adds a replica to the owner of a pod. HandleSurge must follow.
	SurgeUp struct{ Pod *model.Pod }
	// SurgeDown removes the replica again. HandleSurge must follow.
	SurgeDown struct{ Pod *model.Pod }
)

func (SurgeUp) action()   {}
func (SurgeDown) action() {}

// surgeStage is the progress of a surge.
type surgeStage uint8

const (
	scaleUpRequested surgeStage = iota
	scaledUp
	scaleDownRequested
	settling // until the owner has deleted a pod
	surgeDone
)

// surge is a workload with an additional replica until a pod of it is evicted.
type surge struct {
	move       *Move
	stage      surgeStage
	since      time.Time       // of the last change of stage
	existing   map[string]bool // UIDs of the owner's pods before the surge
	podsBefore int             // active pods before the surge
	extra      *model.Pod      // the additional pod, or nil
	placedAt   time.Time       // when it was observed on a node
	failure    string          // why the surge does not help and will be undone
	retryAfter time.Time       // time of the next attempt to undo it
}

var scalableKinds = []string{"ReplicaSet", "ReplicationController", "StatefulSet"}

// surgeUp starts a surge if it would let the budgets allow the eviction.
func (m *Machine) surgeUp(now time.Time, v *View, x *Move) Action {
	o := x.Pod.Owner
	if !m.o.Surge || x.Block == nil || x.Block.Kind != ByBudget || !slices.Contains(scalableKinds, o.Kind) || !x.Pod.Ready || m.surges[o.UID] != nil || !surgeHelps(v, x.Pod) {
		return nil
	}
	s := &surge{move: x, since: now, existing: map[string]bool{}}
	for _, p := range v.OwnedBy(o) {
		s.existing[p.UID] = true
	}
	s.podsBefore = countActive(v, o)
	m.surges[o.UID], m.currentSurge, m.acted = s, s, true
	return SurgeUp{x.Pod}
}

// surgeHelps reports whether every budget of p would allow another disruption if the workload
// had one more Ready pod.
func surgeHelps(v *View, p *model.Pod) bool {
	for _, b := range v.State.Budgets(p.Namespace) {
		if !budget.Ledger.Covers(b, p) {
			continue
		}
		expected, desired := b.ExpectedPods+1, b.MinAvailable.ScaledValue(b.ExpectedPods+1)
		if b.MaxUnavailable.Set {
			desired = expected - b.MaxUnavailable.ScaledValue(expected)
		}
		if b.SpecError != "" || b.SyncError != "" || b.CurrentHealthy+1 <= desired {
			return false
		}
	}
	return true
}

// HandleSurge handles the result of the last surge action; reason is empty on success.
func (m *Machine) HandleSurge(now time.Time, reason string) {
	s := m.currentSurge
	if s == nil {
		return
	}
	s.since = now
	switch {
	case s.stage == scaleUpRequested && reason == "":
		s.stage = scaledUp
		return // wait until the additional pod is scheduled
	case s.stage == scaleUpRequested:
		s.stage, s.failure = surgeDone, reason
	case reason == "":
		s.stage = settling
		return // the additional pod counts for budgets until it is deleted
	default: // retry
		s.stage, s.retryAfter = scaledUp, now.Add(retryInterval)
	}
	m.currentSurge = nil
	m.endSurge(s.move)
}

// AdoptSurge continues a surge that an earlier drain started for a pod.
func (m *Machine) AdoptSurge(now time.Time, v *View, pod string) {
	m.collectPods(v)
	x := m.byUID[pod]
	if x == nil {
		return
	}
	s := &surge{move: x, stage: scaledUp, since: now, existing: map[string]bool{}}
	for _, p := range v.OwnedBy(x.Pod.Owner) {
		s.existing[p.UID] = true
		if p.UID != pod && !p.Deleting {
			s.extra = p // the youngest
		}
	}
	s.podsBefore = countActive(v, x.Pod.Owner) - 1
	m.surges[x.Pod.Owner.UID] = s
}

// countActive returns the number of pods of an owner that are not terminating.
func countActive(v *View, o model.Owner) (n int) {
	for _, p := range v.OwnedBy(o) {
		if !p.Deleting {
			n++
		}
	}
	return n
}

func (s *surge) observe(now time.Time, v *View, t Timeouts) {
	if s.stage != scaledUp {
		return
	}
	if s.extra != nil {
		if s.extra = v.Pod(s.extra.UID); s.extra != nil && s.extra.Deleting {
			s.extra = nil
		}
	}
	for _, q := range v.OwnedBy(s.move.Pod.Owner) {
		if s.extra == nil && !s.existing[q.UID] && !q.Deleting && q.UID != s.move.Pod.UID && (s.move.Replacement == nil || q.UID != s.move.Replacement.UID) {
			s.extra = q
		}
	}
	e := s.extra
	switch {
	case e == nil && now.Sub(s.since) >= t.Replacement && !s.move.Evicted():
		s.failure = "its owner creates no additional pod"
	case e == nil || e.NodeName == "" || e.Ready:
		s.placedAt = time.Time{}
	case s.placedAt.IsZero():
		s.placedAt = now
	case now.Sub(s.placedAt) >= t.Ready:
		s.failure = "the additional pod is not Ready after " + t.Ready.String()
	}
}

// settledSurge reports whether the last surge action has taken effect.
func (m *Machine) settledSurge(now time.Time, v *View, s *surge) (wake time.Time, ok bool) {
	switch {
	case s.stage == scaleUpRequested || s.stage == scaleDownRequested:
		return time.Time{}, false
	case s.stage == settling:
		at := s.since.Add(m.timeouts.Replacement)
		if countActive(v, s.move.Pod.Owner) > s.podsBefore && now.Before(at) {
			return at, false
		}
		s.stage = surgeDone
		return time.Time{}, true
	case s.stage == surgeDone || s.failure != "" || s.move.Evicted(): // the pod was deleted in the meantime
		return time.Time{}, true
	case s.extra == nil:
		return s.since.Add(m.timeouts.Replacement), false
	}
	wake, ok = m.schedulerIdle(now, v)
	if ok && s.extra.NodeName == "" {
		s.failure = "the additional pod cannot be scheduled"
	}
	return wake, ok
}

// awaitsReady reports whether the round waits for the additional pod to be Ready.
func (s *surge) awaitsReady() bool {
	return s.stage == scaledUp && s.failure == "" && !s.move.Evicted() && s.extra != nil && !s.extra.Ready
}

// surgeDown undoes a surge that has been used or does not help. For a StatefulSet it waits for the
// replacement, as the additional pod does not replace the evicted one.
func (m *Machine) surgeDown(now time.Time) Action {
	for _, x := range m.moves {
		s := m.surges[x.Pod.Owner.UID]
		if s == nil || s.move != x || s.stage != scaledUp || now.Before(s.retryAfter) {
			continue
		}
		replaced := x.Evicted() && (x.Pod.Owner.Kind != "StatefulSet" || x.Deleted() && x.complete())
		if !replaced && s.failure == "" {
			continue
		}
		s.stage, s.since, m.currentSurge, m.acted = scaleDownRequested, now, s, true
		return SurgeDown{x.Pod}
	}
	return nil
}

// recordFailedSurge records that a surge did not help.
func (m *Machine) recordFailedSurge(x *Move) {
	s := m.surges[x.Pod.Owner.UID]
	if s == nil || s.move != x || x.Block == nil || x.Block.Kind != ByBudget {
		return
	}
	if s.stage == scaledUp && s.extra != nil && s.extra.Ready {
		s.failure = "an additional pod does not help"
	}
	if s.failure != "" {
		x.Block.Reason += " (--surge: " + s.failure + ")"
	}
}

// useSurgePod marks a move as surged and makes the additional pod its replacement, except for a StatefulSet.
func (m *Machine) useSurgePod(x *Move) {
	s := m.surges[x.Pod.Owner.UID]
	if s == nil || s.move != x || s.stage != scaledUp {
		return
	}
	x.Surged = true
	if x.Pod.Owner.Kind != "StatefulSet" {
		x.Replacement = s.extra
	}
}

// endSurge deletes a surge that has succeeded, so that the next pod of the workload can have one.
func (m *Machine) endSurge(x *Move) {
	if s := m.surges[x.Pod.Owner.UID]; s != nil && s.stage == surgeDone && s.failure == "" {
		delete(m.surges, x.Pod.Owner.UID)
	}
}

// surgedPods returns the pods with an active surge.
func (m *Machine) surgedPods() (out []*model.Pod) {
	for _, x := range m.moves {
		if s := m.surges[x.Pod.Owner.UID]; s != nil && s.move == x && s.stage < settling {
			out = append(out, x.Pod)
		}
	}
	return out
}
