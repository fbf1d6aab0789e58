package drain

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// next is the next thing to do in this round; nil when there is nothing left.
func (m *Machine) next(now time.Time, v *View) Action {
	busy := m.busyOwners()
	for _, x := range m.moves {
		if x.stage != waiting || x.tried == m.turn {
			continue
		}
		x.tried = m.turn
		x.Block = m.blocked(now, v, x, busy)
		if x.Held == nil {
			x.Held = x.Block
		}
		if x.Block == nil {
			return m.evict(now, v, x)
		}
		m.inVain(x)
		if a := m.surgeUp(now, v, x); a != nil {
			return a
		}
	}
	return nil
}

// busyOwners are the workloads that wait for a replacement, with the pod that it replaces. One
// that was not Ready when the round began is waited for until the next.
func (m *Machine) busyOwners() map[string]*Move {
	busy := map[string]*Move{}
	for _, x := range m.moves {
		if o := x.Pod.Owner.UID; o != "" && busy[o] == nil && (x.busy() || x.Replacement != nil && !m.books.stood[x.Replacement.UID]) {
			busy[o] = x
		}
	}
	return busy
}

func (m *Machine) evict(now time.Time, v *View, x *Move) Action {
	if m.evicted == 0 {
		m.round++
	}
	x.enter(asked, now)
	x.Round, x.sharp = m.round, m.sharp || noticed(v, x.Pod)
	x.before = map[string]bool{}
	for _, p := range v.Of(x.Pod.Owner) {
		x.before[p.UID] = p.NodeName != ""
	}
	m.standIn(x)
	m.books.pay(now, x.Pod)
	if o := x.Pod.Owner.UID; o != "" {
		m.went[o] = x
	}
	m.current = x
	m.evicted++
	m.acted = true
	return m.eviction(x)
}

// eviction asks for a pod to be evicted.
func (m *Machine) eviction(x *Move) Evict {
	e := Evict{Pod: x.Pod}
	if s := m.surges[x.Pod.Owner.UID]; x.Surged && s != nil && s.move == x && s.stage == up {
		e.StandIn = x.Replacement
	}
	return e
}

// blocked says what holds a pod now; nil: nothing.
func (m *Machine) blocked(now time.Time, v *View, x *Move, busy map[string]*Move) *Block {
	p := x.Pod
	if b := cmp.Or(busy[p.Owner.UID], m.went[p.Owner.UID]); b != nil {
		return paced(b)
	}
	if x.refused != "" && (x.final || x.notUntil.After(now)) {
		return x.byServer()
	}
	if b := m.books.ask(now, v, p); b != nil {
		return b
	}
	if toleratesCordon(p) {
		if n := m.backTo(v, p); n != "" {
			return &Block{Kind: StraightBack, Never: true, Why: "its replacement would be put on " + n + ", which is drained, as it tolerates " + unschedulable.Key,
				Field: "spec.tolerations of its owner's template"}
		}
	}
	return nil
}

// backTo is the drained node that a replacement would be put on, while the pod is still
// there or after it is gone; empty: none.
func (m *Machine) backTo(v *View, p *model.Pod) string {
	profile, ok := m.profiles[p.Spec.SchedulerName]
	if !ok || p.Owner.UID == "" {
		return ""
	}
	q := replica(p, p.Name+"-foretold", "foretold/"+p.UID)
	gone := v.State.Fork()
	gone.RemovePod(p.UID)
	for _, node := range []string{decide(m.placers[profile.Name], q), decide(profile.New(gone), q)} {
		if slices.Contains(m.nodes, node) {
			return node
		}
	}
	return ""
}

// settled says whether the next pod may go, the last one being x: its replacement is
// decided, it is gone where that could be noticed, and nobody waits who would fit.
func (m *Machine) settled(now time.Time, v *View, x *Move) (wake time.Time, ok bool) {
	if x.stage == waiting {
		return time.Time{}, true // it was refused
	}
	if !x.Gone() && !x.Pod.Deleting {
		at := x.since.Add(m.patience.Seen)
		if now.Before(at) {
			return at, false
		}
		x.enter(waiting, now) // it was granted, and is there as if nothing had been
		x.withdraw()
		return time.Time{}, true
	}
	if x.owned() && x.Replacement == nil {
		return x.due(m.patience), false
	}
	if !x.Gone() && x.sharp {
		return time.Time{}, false
	}
	return m.atRest(now, v)
}
