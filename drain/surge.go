package drain

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

// SurgeUp asks for the owner of a pod to run one more; SurgeDown for that to be taken
// back. SurgeAnswer must follow.
type (
	SurgeUp   struct{ Pod *model.Pod }
	SurgeDown struct{ Pod *model.Pod }
)

func (SurgeUp) action()   {}
func (SurgeDown) action() {}

// surgeStage is how far a surge is.
type surgeStage uint8

const (
	scaleUpRequested surgeStage = iota
	scaledUp
	scaleDownRequested
	settling // until the owner has removed one
	surgeDone
)

// surge is a workload that runs one more until a pod of it has left.
type surge struct {
	move       *Move
	stage      surgeStage
	since      time.Time
	before     map[string]bool
	podsBefore int        // pods that are not on their way out, before
	extra      *model.Pod // the one more; nil: not yet
	placedAt   time.Time  // when it was seen on a node
	failure    string     // why it is of no use; it is taken back
	retryAfter time.Time  // taking it back is not asked for again before
}

// scalableKinds are the kinds whose replicas can be asked for.
var scalableKinds = []string{"ReplicaSet", "ReplicationController", "StatefulSet"}

// surgeUp asks for one more of a pod's workload, if that would make its budget allow it.
func (m *Machine) surgeUp(now time.Time, v *View, x *Move) Action {
	o := x.Pod.Owner
	if !m.o.Surge || x.Block == nil || x.Block.Kind != ByBudget || !slices.Contains(scalableKinds, o.Kind) || !x.Pod.Ready || m.surges[o.UID] != nil || !surgeHelps(v, x.Pod) {
		return nil
	}
	s := &surge{move: x, since: now, before: map[string]bool{}}
	for _, p := range v.OwnedBy(o) {
		s.before[p.UID] = true
	}
	s.podsBefore = countActive(v, o)
	m.surges[o.UID], m.currentSurge, m.acted = s, s, true
	return SurgeUp{x.Pod}
}

// surgeHelps says that every budget over a pod would allow one more disruption if its workload
// had one more pod, Ready.
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

// HandleSurge takes in what became of the surge that Step asked for; why is empty when it
// was done.
func (m *Machine) HandleSurge(now time.Time, why string) {
	s := m.currentSurge
	if s == nil {
		return
	}
	s.since = now
	switch {
	case s.stage == scaleUpRequested && why == "":
		s.stage = scaledUp
		return // it is waited for until the one more is decided
	case s.stage == scaleUpRequested:
		s.stage, s.failure = surgeDone, why
	case why == "":
		s.stage = settling
		return // what was one too many counts for budgets until it leaves
	default: // it is asked for again
		s.stage, s.retryAfter = scaledUp, now.Add(retryInterval)
	}
	m.currentSurge = nil
	m.endSurge(s.move)
}

// AdoptSurge takes up a surge that an earlier drain began for a pod.
func (m *Machine) AdoptSurge(now time.Time, v *View, pod string) {
	m.collectPods(v)
	x := m.byUID[pod]
	if x == nil {
		return
	}
	s := &surge{move: x, stage: scaledUp, since: now, before: map[string]bool{}}
	for _, p := range v.OwnedBy(x.Pod.Owner) {
		s.before[p.UID] = true
		if p.UID != pod && !p.Deleting {
			s.extra = p // the youngest
		}
	}
	s.podsBefore = countActive(v, x.Pod.Owner) - 1
	m.surges[x.Pod.Owner.UID] = s
}

// countActive is how many pods of an owner are not on their way out.
func countActive(v *View, o model.Owner) (n int) {
	for _, p := range v.OwnedBy(o) {
		if !p.Deleting {
			n++
		}
	}
	return n
}

// observe brings a surge up to date.
func (s *surge) observe(now time.Time, v *View, p Timeouts) {
	if s.stage != scaledUp {
		return
	}
	if s.extra != nil {
		if s.extra = v.Pod(s.extra.UID); s.extra != nil && s.extra.Deleting {
			s.extra = nil
		}
	}
	for _, q := range v.OwnedBy(s.move.Pod.Owner) {
		if s.extra == nil && !s.before[q.UID] && !q.Deleting && q.UID != s.move.Pod.UID && (s.move.Replacement == nil || q.UID != s.move.Replacement.UID) {
			s.extra = q
		}
	}
	e := s.extra
	switch {
	case e == nil && now.Sub(s.since) >= p.Replacement && !s.move.Evicted():
		s.failure = "its owner makes no pod more"
	case e == nil || e.NodeName == "" || e.Ready:
		s.placedAt = time.Time{}
	case s.placedAt.IsZero():
		s.placedAt = now
	case now.Sub(s.placedAt) >= p.Ready:
		s.failure = "the pod more is not Ready after " + p.Ready.String()
	}
}

// settledSurge says whether what was asked for is decided.
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
	case s.stage == surgeDone || s.failure != "" || s.move.Evicted(): // or it left by itself meanwhile
		return time.Time{}, true
	case s.extra == nil:
		return s.since.Add(m.timeouts.Replacement), false
	}
	wake, ok = m.schedulerIdle(now, v)
	if ok && s.extra.NodeName == "" {
		s.failure = "the pod more has no node"
	}
	return wake, ok
}

// awaitsReady says that the round has to wait for the one more to be Ready.
func (s *surge) awaitsReady() bool {
	return s.stage == scaledUp && s.failure == "" && !s.move.Evicted() && s.extra != nil && !s.extra.Ready
}

// surgeDown takes a surge back whose pod has left, or that is of no use. The pod of a
// StatefulSet is waited for, as the one more does not stand in for it.
func (m *Machine) surgeDown(now time.Time) Action {
	for _, x := range m.moves {
		s := m.surges[x.Pod.Owner.UID]
		if s == nil || s.move != x || s.stage != scaledUp || now.Before(s.retryAfter) {
			continue
		}
		left := x.Evicted() && (x.Pod.Owner.Kind != "StatefulSet" || x.Gone() && x.complete())
		if !left && s.failure == "" {
			continue
		}
		s.stage, s.since, m.currentSurge, m.acted = scaleDownRequested, now, s, true
		return SurgeDown{x.Pod}
	}
	return nil
}

// recordFailedSurge notes that a surge did not make the budget allow what it was for.
func (m *Machine) recordFailedSurge(x *Move) {
	s := m.surges[x.Pod.Owner.UID]
	if s == nil || s.move != x || x.Block == nil || x.Block.Kind != ByBudget {
		return
	}
	if s.stage == scaledUp && s.extra != nil && s.extra.Ready {
		s.failure = "one pod more does not make it allow anything"
	}
	if s.failure != "" {
		x.Block.Reason += " (--surge: " + s.failure + ")"
	}
}

// useSurgePod has the one more take the place of the pod that leaves.
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

// endSurge forgets a surge that is over, so that the next pod of the workload can have one.
func (m *Machine) endSurge(x *Move) {
	if s := m.surges[x.Pod.Owner.UID]; s != nil && s.stage == surgeDone && s.failure == "" {
		delete(m.surges, x.Pod.Owner.UID)
	}
}

// surgedPods are the pods for which a workload runs one more now, or may.
func (m *Machine) surgedPods() (out []*model.Pod) {
	for _, x := range m.moves {
		if s := m.surges[x.Pod.Owner.UID]; s != nil && s.move == x && s.stage < settling {
			out = append(out, x.Pod)
		}
	}
	return out
}
