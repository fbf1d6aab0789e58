package evacuation

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

// surgeStage is the progress of a surge.
type surgeStage uint8

const (
	scaleRequested surgeStage = iota // up or down
	scaledUp
	settling // until the owner has deleted a pod
	surgeDone
)

// surge is an additional replica of a workload that lets the budgets allow the eviction of a pod.
type surge struct {
	move       *Move
	stage      surgeStage
	since      time.Time       // of the last change of stage
	existing   map[string]bool // UIDs of the owner's pods before the surge
	podsBefore int             // active pods before the surge
	extra      *model.Pod      // the additional pod, or nil
	placedAt   time.Time       // when it was observed on a node and not Ready
	failure    string          // why the surge does not help and will be undone
	retryAfter time.Time       // time of the next attempt to undo it
}

var scalableKinds = []string{"ReplicaSet", "ReplicationController", "StatefulSet"}

// surgeUp starts a surge if it would let the budgets allow the eviction.
func (d *Drain) surgeUp(t *step, x *Move) bool {
	o := x.Pod.Owner
	if !d.o.Surge || x.Block == nil || x.Block.Kind != ByBudget || !slices.Contains(scalableKinds, o.Kind) || !x.Pod.Ready || d.surges[o.UID] != nil || !d.surgeHelps(x.Pod) {
		return false
	}
	s := d.newSurge(x, t.now)
	d.surges[o.UID], d.currentSurge, d.acted = s, s, true
	t.emit(Action{Kind: SurgeUp, Move: x}, func(now time.Time, r Result) {
		s.since = now
		if s.stage = scaledUp; !r.Done { // the request may have been executed, so the surge is undone
			s.failure = r.Message
		}
	})
	return true
}

func (d *Drain) newSurge(x *Move, now time.Time) *surge {
	s := &surge{move: x, since: now, existing: map[string]bool{}, podsBefore: d.countActive(x.Pod.Owner)}
	for _, p := range d.view.OwnedBy(x.Pod.Owner) {
		s.existing[p.UID] = true
	}
	return s
}

// surgeHelps reports whether every budget of p would allow another disruption if the workload had one more Ready pod.
func (d *Drain) surgeHelps(p *model.Pod) bool {
	for _, b := range d.view.State.Budgets(p.Namespace) {
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

// AdoptSurge continues a surge that an earlier drain started for a pod.
func (d *Drain) AdoptSurge(now time.Time, pod string) {
	d.collectPods(now)
	x := d.byUID[pod]
	if x == nil {
		return
	}
	s := d.newSurge(x, now)
	s.stage = scaledUp
	s.podsBefore--
	for _, p := range d.view.OwnedBy(x.Pod.Owner) {
		if p.UID != pod && !p.Deleting {
			s.extra = p // the youngest
		}
	}
	d.surges[x.Pod.Owner.UID] = s
}

// SurgedPods returns the pods with an active surge.
func (d *Drain) SurgedPods() (out []*model.Pod) {
	for _, x := range d.moves {
		if s := d.surgeOf(x); s != nil && s.stage < settling {
			out = append(out, x.Pod)
		}
	}
	return out
}

// surgeOf returns the surge for a move, or nil.
func (d *Drain) surgeOf(x *Move) *surge {
	if s := d.surges[x.Pod.Owner.UID]; s != nil && s.move == x {
		return s
	}
	return nil
}

// countActive returns the number of pods of an owner that are not terminating.
func (d *Drain) countActive(o model.Owner) int {
	return len(slices.DeleteFunc(d.view.OwnedBy(o), func(p *model.Pod) bool { return p.Deleting }))
}

// observeSurge finds the additional pod, and whether it fails.
func (d *Drain) observeSurge(t *step, s *surge) {
	if s.stage != scaledUp {
		return
	}
	if s.extra != nil {
		if s.extra = d.view.Pod(s.extra.UID); s.extra != nil && s.extra.Deleting {
			s.extra = nil
		}
	}
	for _, q := range d.view.OwnedBy(s.move.Pod.Owner) {
		if s.extra == nil && !s.existing[q.UID] && !q.Deleting && q.UID != s.move.Pod.UID && (s.move.Replacement == nil || q.UID != s.move.Replacement.UID) {
			s.extra = q
		}
	}
	switch e := s.extra; {
	case e == nil:
		s.placedAt = time.Time{}
		if !s.move.Evicted() && t.isOver(s.since, d.timeouts.Replacement) {
			s.failure = "its owner creates no additional pod"
		}
	case e.NodeName == "" || e.Ready:
		s.placedAt = time.Time{}
	case s.placedAt.IsZero():
		s.placedAt = t.now
		t.wakeAt(t.now.Add(d.timeouts.Ready))
	case t.isOver(s.placedAt, d.timeouts.Ready):
		s.failure = "the additional pod is not Ready after " + d.timeouts.Ready.String()
	}
}

// surgeSettled reports whether the last surge action has taken effect.
func (d *Drain) surgeSettled(t *step, s *surge) bool {
	switch {
	case s.stage == scaleRequested:
		return false
	case s.stage == settling:
		if d.countActive(s.move.Pod.Owner) > s.podsBefore && !t.isOver(s.since, d.timeouts.Replacement) {
			return false
		}
		s.stage = surgeDone
		return true
	case s.stage == surgeDone || s.failure != "" || s.move.Evicted(): // the pod was deleted in the meantime
		return true
	case s.extra == nil || !d.schedulerIdle(t):
		return false
	case s.extra.NodeName == "":
		s.failure = "the additional pod cannot be scheduled"
	}
	return true
}

// awaitsReady reports whether the round waits for the additional pod to be Ready.
func (s *surge) awaitsReady() bool {
	return s.stage == scaledUp && s.failure == "" && !s.move.Evicted() && s.extra != nil && !s.extra.Ready
}

// surgeDown undoes a surge that has been used or does not help. For a StatefulSet it waits for the replacement, as the
// additional pod does not replace the evicted one.
func (d *Drain) surgeDown(t *step) bool {
	for _, x := range d.moves {
		s := d.surgeOf(x)
		if s == nil || s.stage != scaledUp || !t.isDue(s.retryAfter) {
			continue
		}
		replaced := x.Evicted() && (x.Pod.Owner.Kind != "StatefulSet" || x.Deleted() && x.complete())
		if !replaced && s.failure == "" {
			continue
		}
		s.stage, s.since, x.surgePod, d.currentSurge, d.acted = scaleRequested, t.now, nil, s, true
		t.emit(Action{Kind: SurgeDown, Move: x}, func(now time.Time, r Result) {
			s.since = now
			if s.stage = settling; !r.Done { // retry; otherwise the additional pod counts for budgets until it is deleted
				s.stage, s.retryAfter, d.currentSurge = scaledUp, now.Add(retryInterval), nil
			}
		})
		return true
	}
	return false
}

// recordFailedSurge records that a surge did not help.
func (d *Drain) recordFailedSurge(x *Move) {
	s := d.surgeOf(x)
	if s == nil || x.Block == nil || x.Block.Kind != ByBudget {
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
func (d *Drain) useSurgePod(x *Move) {
	s := d.surgeOf(x)
	if s == nil || s.stage != scaledUp {
		return
	}
	x.Surged = true
	if x.Pod.Owner.Kind != "StatefulSet" {
		x.Replacement, x.surgePod = s.extra, s.extra
	}
}

// endSurge deletes a surge that has succeeded, so that the next pod of the workload can have one.
func (d *Drain) endSurge(x *Move) {
	if s := d.surgeOf(x); s != nil && s.stage == surgeDone && s.failure == "" {
		delete(d.surges, x.Pod.Owner.UID)
	}
}
