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
	askedUp surgeStage = iota
	up
	askedDown
	settling // until the owner has removed one
	over
)

// surge is a workload that runs one more until a pod of it has left.
type surge struct {
	move   *Move
	stage  surgeStage
	since  time.Time
	before map[string]bool
	wanted int        // pods that are not on their way out, before
	extra  *model.Pod // the one more; nil: not yet
	placed time.Time  // when it was seen on a node
	failed string     // why it is of no use; it is taken back
	again  time.Time  // taking it back is not asked for again before
}

// surgeable are the kinds whose replicas can be asked for.
var surgeable = []string{"ReplicaSet", "ReplicationController", "StatefulSet"}

// surgeUp asks for one more of a pod's workload, if that would make its budget allow it.
func (m *Machine) surgeUp(now time.Time, v *View, x *Move) Action {
	o := x.Pod.Owner
	if !m.o.Surge || x.Block == nil || x.Block.Kind != ByBudget || !slices.Contains(surgeable, o.Kind) || !x.Pod.Ready || m.surges[o.UID] != nil || !helps(v, x.Pod) {
		return nil
	}
	s := &surge{move: x, since: now, before: map[string]bool{}}
	for _, p := range v.Of(o) {
		s.before[p.UID] = true
	}
	s.wanted = alive(v, o)
	m.surges[o.UID], m.surging, m.acted = s, s, true
	return SurgeUp{x.Pod}
}

// helps says that every budget over a pod would allow one more disruption if its workload
// had one more pod, Ready.
func helps(v *View, p *model.Pod) bool {
	for _, b := range v.State.Budgets(p.Namespace) {
		if !budget.Ledger.Covers(b, p) {
			continue
		}
		expected, desired := b.ExpectedPods+1, b.MinAvailable.Of(b.ExpectedPods+1)
		if b.MaxUnavailable.Set {
			desired = expected - b.MaxUnavailable.Of(expected)
		}
		if b.Fault != "" || b.SyncFailed != "" || b.CurrentHealthy+1 <= desired {
			return false
		}
	}
	return true
}

// SurgeAnswer takes in what became of the surge that Step asked for; why is empty when it
// was done.
func (m *Machine) SurgeAnswer(now time.Time, why string) {
	s := m.surging
	if s == nil {
		return
	}
	s.since = now
	switch {
	case s.stage == askedUp && why == "":
		s.stage = up
		return // it is waited for until the one more is decided
	case s.stage == askedUp:
		s.stage, s.failed = over, why
	case why == "":
		s.stage = settling
		return // what was one too many counts for budgets until it leaves
	default: // it is asked for again
		s.stage, s.again = up, now.Add(askAgain)
	}
	m.surging = nil
	m.endSurge(s.move)
}

// Adopt takes up a surge that an earlier drain began for a pod.
func (m *Machine) Adopt(now time.Time, v *View, pod string) {
	m.collect(v)
	x := m.byUID[pod]
	if x == nil {
		return
	}
	s := &surge{move: x, stage: up, since: now, before: map[string]bool{}}
	for _, p := range v.Of(x.Pod.Owner) {
		s.before[p.UID] = true
		if p.UID != pod && !p.Deleting {
			s.extra = p // the youngest
		}
	}
	s.wanted = alive(v, x.Pod.Owner) - 1
	m.surges[x.Pod.Owner.UID] = s
}

// alive is how many pods of an owner are not on their way out.
func alive(v *View, o model.Owner) (n int) {
	for _, p := range v.Of(o) {
		if !p.Deleting {
			n++
		}
	}
	return n
}

// observe brings a surge up to date.
func (s *surge) observe(now time.Time, v *View, p Patience) {
	if s.stage != up {
		return
	}
	if s.extra != nil {
		if s.extra = v.Pod(s.extra.UID); s.extra != nil && s.extra.Deleting {
			s.extra = nil
		}
	}
	for _, q := range v.Of(s.move.Pod.Owner) {
		if s.extra == nil && !s.before[q.UID] && !q.Deleting && q.UID != s.move.Pod.UID && (s.move.Replacement == nil || q.UID != s.move.Replacement.UID) {
			s.extra = q
		}
	}
	e := s.extra
	switch {
	case e == nil && now.Sub(s.since) >= p.Replacement && !s.move.Evicted():
		s.failed = "its owner makes no pod more"
	case e == nil || e.NodeName == "" || e.Ready:
		s.placed = time.Time{}
	case s.placed.IsZero():
		s.placed = now
	case now.Sub(s.placed) >= p.Ready:
		s.failed = "the pod more is not Ready after " + p.Ready.String()
	}
}

// settledSurge says whether what was asked for is decided.
func (m *Machine) settledSurge(now time.Time, v *View, s *surge) (wake time.Time, ok bool) {
	switch {
	case s.stage == askedUp || s.stage == askedDown:
		return time.Time{}, false
	case s.stage == settling:
		at := s.since.Add(m.patience.Replacement)
		if alive(v, s.move.Pod.Owner) > s.wanted && now.Before(at) {
			return at, false
		}
		s.stage = over
		return time.Time{}, true
	case s.stage == over || s.failed != "" || s.move.Evicted(): // or it left by itself meanwhile
		return time.Time{}, true
	case s.extra == nil:
		return s.since.Add(m.patience.Replacement), false
	}
	wake, ok = m.atRest(now, v)
	if ok && s.extra.NodeName == "" {
		s.failed = "the pod more has no node"
	}
	return wake, ok
}

// waiting says that the round has to wait for the one more to be Ready.
func (s *surge) waiting() bool {
	return s.stage == up && s.failed == "" && !s.move.Evicted() && s.extra != nil && !s.extra.Ready
}

// surgeDown takes a surge back whose pod has left, or that is of no use. The pod of a
// StatefulSet is waited for, as the one more does not stand in for it.
func (m *Machine) surgeDown(now time.Time) Action {
	for _, x := range m.moves {
		s := m.surges[x.Pod.Owner.UID]
		if s == nil || s.move != x || s.stage != up || now.Before(s.again) {
			continue
		}
		left := x.Evicted() && (x.Pod.Owner.Kind != "StatefulSet" || x.Gone() && x.complete())
		if !left && s.failed == "" {
			continue
		}
		s.stage, s.since, m.surging, m.acted = askedDown, now, s, true
		return SurgeDown{x.Pod}
	}
	return nil
}

// inVain notes that a surge did not make the budget allow what it was for.
func (m *Machine) inVain(x *Move) {
	s := m.surges[x.Pod.Owner.UID]
	if s == nil || s.move != x || x.Block == nil || x.Block.Kind != ByBudget {
		return
	}
	if s.stage == up && s.extra != nil && s.extra.Ready {
		s.failed = "one pod more does not make it allow anything"
	}
	if s.failed != "" {
		x.Block.Why += " (--surge: " + s.failed + ")"
	}
}

// standIn has the one more take the place of the pod that leaves.
func (m *Machine) standIn(x *Move) {
	s := m.surges[x.Pod.Owner.UID]
	if s == nil || s.move != x || s.stage != up {
		return
	}
	x.Surged = true
	if x.Pod.Owner.Kind != "StatefulSet" {
		x.Replacement = s.extra
	}
}

// endSurge forgets a surge that is over, so that the next pod of the workload can have one.
func (m *Machine) endSurge(x *Move) {
	if s := m.surges[x.Pod.Owner.UID]; s != nil && s.stage == over && s.failed == "" {
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
