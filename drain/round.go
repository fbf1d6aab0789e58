package drain

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// nextAction returns the next action of the round, or nil.
func (m *Machine) nextAction(now time.Time, v *View) Action {
	busy := m.busyOwners()
	for _, x := range m.moves {
		if x.stage != waiting || x.lastTried == m.iteration {
			continue
		}
		x.lastTried = m.iteration
		x.Block = m.findBlock(now, v, x, busy)
		if x.FirstBlock == nil {
			x.FirstBlock = x.Block
		}
		if x.Block == nil {
			return m.beginEviction(now, v, x)
		}
		m.recordFailedSurge(x)
		if a := m.surgeUp(now, v, x); a != nil {
			return a
		}
	}
	return nil
}

// busyOwners returns the owners that wait for a replacement, with the replaced pod. If a
// replacement was not Ready at the start of the round, its owner waits until the next round.
func (m *Machine) busyOwners() map[string]*Move {
	busy := map[string]*Move{}
	for _, x := range m.moves {
		if o := x.Pod.Owner.UID; o != "" && busy[o] == nil && (x.busy() || x.Replacement != nil && !m.ledger.ready[x.Replacement.UID]) {
			busy[o] = x
		}
	}
	return busy
}

// beginEviction starts the eviction of a move and returns its action.
func (m *Machine) beginEviction(now time.Time, v *View, x *Move) Action {
	if m.evicted == 0 {
		m.round++
	}
	x.setStage(requested, now)
	x.Round, x.awaitTermination = m.round, m.awaitTermination || terminationMatters(v, x.Pod)
	x.existing = map[string]bool{}
	for _, p := range v.OwnedBy(x.Pod.Owner) {
		x.existing[p.UID] = p.NodeName != ""
	}
	m.useSurgePod(x)
	m.ledger.debit(now, x.Pod)
	if o := x.Pod.Owner.UID; o != "" {
		m.evictedByOwner[o] = x
	}
	m.current = x
	m.evicted++
	m.acted = true
	return m.evictAction(x)
}

func (m *Machine) evictAction(x *Move) Evict {
	e := Evict{Pod: x.Pod}
	if s := m.surges[x.Pod.Owner.UID]; x.Surged && s != nil && s.move == x && s.stage == scaledUp {
		e.SurgePod = x.Replacement
	}
	return e
}

// findBlock returns the current block of a move, or nil.
func (m *Machine) findBlock(now time.Time, v *View, x *Move, busy map[string]*Move) *Block {
	p := x.Pod
	if b := cmp.Or(busy[p.Owner.UID], m.evictedByOwner[p.Owner.UID]); b != nil {
		return workloadBlock(b)
	}
	if x.refusal != "" && (x.refusedPermanently || x.retryAfter.After(now)) {
		return x.apiServerBlock()
	}
	if b := m.ledger.check(now, v, p); b != nil {
		return b
	}
	if toleratesCordon(p) {
		if n := m.returnsTo(v, p); n != "" {
			return &Block{Kind: ByReturn, Permanent: true, Reason: "its replacement would run on " + n + ", which is drained, because it tolerates " + unschedulable.Key,
				Field: "spec.tolerations of its owner's template"}
		}
	}
	return nil
}

// returnsTo returns the drained node that the replacement of p would get, while p exists or
// after its deletion, or "".
func (m *Machine) returnsTo(v *View, p *model.Pod) string {
	profile, ok := m.profiles[p.Spec.SchedulerName]
	if !ok || p.Owner.UID == "" {
		return ""
	}
	q := newReplica(p, p.Name+"-preview", "preview/"+p.UID)
	withoutPod := v.State.Fork()
	withoutPod.RemovePod(p.UID)
	for _, node := range []string{chooseNode(m.placers[profile.Name], q), chooseNode(profile.NewPlacer(withoutPod), q)} {
		if slices.Contains(m.nodes, node) {
			return node
		}
	}
	return ""
}

// settled reports whether the next pod may be evicted after x: the replacement of x is
// scheduled or unschedulable, x is deleted if its termination matters, and no pending pod would fit.
func (m *Machine) settled(now time.Time, v *View, x *Move) (wake time.Time, ok bool) {
	if x.stage == waiting {
		return time.Time{}, true // it was refused
	}
	if !x.Deleted() && !x.Pod.Deleting {
		at := x.since.Add(m.timeouts.EvictionObserved)
		if now.Before(at) {
			return at, false
		}
		x.setStage(waiting, now) // granted, but not deleted
		x.withdraw()
		return time.Time{}, true
	}
	if x.expectsReplacement() && x.Replacement == nil {
		return x.deadline(m.timeouts), false
	}
	if !x.Deleted() && x.awaitTermination {
		return time.Time{}, false
	}
	return m.schedulerIdle(now, v)
}
