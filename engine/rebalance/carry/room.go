package carry

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/rebalance/plan"
)

// places are two copies of the cluster with the moves that are under way: on now their pods are still
// there beside what replaces them, as at the worst; on then they are gone. There is a pair for schedulers that
// heed Holds, and one for others, which has none.
type places struct {
	m         *Machine
	now, then *cluster.State
}

// room makes the copies, once a turn.
func (t *turn) room(mode plan.Mode) *places {
	if t.places[mode] != nil {
		return t.places[mode]
	}
	out := &places{m: t.m, now: t.v.State.Fork(), then: t.v.State.Fork()}
	t.places[mode] = out
	for _, s := range []*cluster.State{out.now, out.then} {
		s.RemoveHolds(func(h *model.Hold) bool {
			return mode == plan.Unheld || !h.Until.After(t.now) || t.m.holder(h) != nil
		})
	}
	for _, x := range t.m.moves {
		if x.underWay() && x.Stage < Placed && !x.Cleanup() {
			out.book(x)
		}
	}
	return out
}

// book has a move take its place on all copies that there are.
func (t *turn) book(x *Move) {
	for _, p := range t.places {
		if p != nil {
			p.book(x)
		}
	}
}

// book has a move take its place.
func (p *places) book(x *Move) {
	p.then.RemovePod(x.Pod.UID)
	for _, s := range []*cluster.State{p.now, p.then} {
		s.UpsertPod(plan.StandIn(x.Pod, x.To))
	}
}

// judge looks at a move's place as the cluster is now, and says why it does not do; final if it will not do after
// earlier moves of the plan either.
func (p *places) judge(now time.Time, x *Move) (why string, final bool) {
	profile := p.m.o.Profiles[x.Pod.Spec.SchedulerName]
	if profile == nil {
		return fmt.Sprintf("how its scheduler %q places pods is not known", x.Pod.Spec.SchedulerName), true
	}
	if until, why, known := p.m.o.Memory.Against(now, x.Move); known {
		return fmt.Sprintf("%s; not tried again until %s", why, until.UTC().Format(time.RFC3339)), true
	}
	pod := p.now.Pod(x.Pod.UID)
	if pod == nil {
		return "it is gone", true
	}
	for _, s := range []*cluster.State{p.now, p.then} {
		s.RemovePod(pod.UID)
		defer s.UpsertPod(pod)
	}
	in := plan.StandIn(x.Pod, "")
	in.Nominated = x.To
	if rec := placement.Evaluate(p.now, profile, p.m.o.Seed, in); !rec.NominatedFirst || rec.Choice != x.To {
		return "node " + x.To + " has no room for it now", false
	}
	in.Nominated = ""
	if x.Mode == plan.Held {
		if rec := placement.Evaluate(p.then, profile, p.m.o.Seed, in); rec.Outcome != decision.Scheduled || rec.Choice == x.From && !x.Emptied {
			return "the scheduler would by now put its replacement back on " + x.From, false
		}
		return "", false
	}
	top, choice := plan.Top(p.then, profile, p.m.o.Seed, pod)
	if choice == "" || slices.ContainsFunc(top, func(n string) bool { return !slices.Contains(x.Top, n) }) {
		return fmt.Sprintf("the scheduler might by now put its replacement on one of %v, and not on %v as was planned", top, x.Top), false
	}
	return "", false
}
