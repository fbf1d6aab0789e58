package preemption

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// choose fills in the choice for a pod of the column's kind.
func (pl *Planner) choose(c *column, pod *model.Pod, out *decision.Preemption) {
	x := pl.stacks.index
	ranks, _, _ := x.Ranks()
	from := x.RankFrom(placement.TiesOf(pl.seed, pod.TieKey()).Point())
	most := 1
	if pl.options.PreferMovable {
		most = movableTies
	}
	if !c.kept {
		pl.counts.Scanned++
		pl.scan(c, pod, from, most)
	} else {
		pl.counts.Columned++
		c.catchUp(&pl.lean)
		if own, ok := pl.state.NodeID(pod.Nominated); ok { // its own nomination does not count for itself
			before := c.of[own]
			c.put(own, pl.lean.try(c.needs, pod, own), ranks)
			defer func() { c.put(own, before, ranks) }()
		}
		pl.ties = c.tree.best(pl.ties[:0], from, most, c.of)
	}
	if len(pl.ties) == 0 {
		out.Tried, out.Clears, out.Counts = decision.NoneHelps, pod.Nominated != "", c.tally.counts(c.needs)
		return
	}
	id := pl.ties[0]
	if len(pl.ties) > 1 {
		id = pl.mostMovable(c.needs, pod)
	}
	r := pl.lean.try(c.needs, pod, id)
	out.Tried, out.Node = decision.Nominated, pl.state.Node(id).Model.Name
	out.Victims = append(out.Victims, pl.lean.inOrder(id)...)
	out.Violations = int(r.cost.violations)
	if st := &pl.stacks.of[id]; st.covers != nil {
		out.Debits = pl.stacks.books.account(st).Debits(out.Victims)
	}
}

// scan keeps the nodes of the lowest cost in ties, in their order, and passes over those
// that cannot be among them. Where none can be helped it has tried all.
func (pl *Planner) scan(c *column, pod *model.Pod, from int32, most int) {
	t := &pl.stacks
	_, byRank, _ := t.index.Ranks()
	c.tally = tally{}
	pl.ties = pl.ties[:0]
	var least cost
	for i := range byRank {
		at := int(from) + i
		if at >= len(byRank) {
			at -= len(byRank)
		}
		id := byRank[at]
		if id < 0 {
			continue
		}
		if len(pl.ties) > 0 {
			if low, ok := t.bound(id, pod.Spec.Priority, &c.needs.amounts); !ok || !low.beats(&least) {
				continue
			}
		}
		r := pl.lean.try(c.needs, pod, id)
		c.tally.add(&r, 1)
		if r.kind != helped {
			continue
		}
		switch d := r.cost.compare(&least); {
		case len(pl.ties) == 0 || d < 0:
			least, pl.ties = r.cost, append(pl.ties[:0], id)
		case d == 0 && len(pl.ties) < most:
			pl.ties = append(pl.ties, id)
		}
	}
}

// mostMovable is the first of the ties with the fewest victims that cannot move.
func (pl *Planner) mostMovable(n *needs, pod *model.Pod) cluster.NodeID {
	best, fewest := pl.ties[0], 1<<30
	for _, id := range pl.ties {
		pl.lean.try(n, pod, id)
		stuck := 0
		for _, v := range pl.lean.inOrder(id) {
			if bound(v) || !pl.movable(pod, id, v) {
				stuck++
			}
		}
		if stuck < fewest {
			best, fewest = id, stuck
		}
		if stuck == 0 {
			break
		}
	}
	return best
}

// movable is movable for a pod that asks nothing of other nodes: if its victim does
// not either, the other nodes are as they are now.
func (pl *Planner) movable(preemptor *model.Pod, id cluster.NodeID, victim *model.Pod) bool {
	stand := &pl.stand
	replace(stand, pl.profile.Name(), victim)
	if stand.Spec != victim.Spec {
		stand.Spec = pl.ownSpec(victim.Spec, stand.Spec)
	}
	l, ok := pl.engine.Lone(stand)
	if !ok || preemptor.Nominated != "" || pl.held(preemptor) || pl.held(victim) {
		return movable(pl.state, pl.profile, preemptor, pl.state.Node(id).Model.Name, victim)
	}
	feasible := pl.feasible(l, stand)
	if feasible > 0 && pl.lean.try(needsOf(l, stand), stand, id).kind == notNeeded {
		feasible--
	}
	return feasible > 0
}

// asked is how many nodes took a pod of a kind in this plan: equal candidates tend to
// have equal victims.
type asked struct {
	key      key
	clock    uint64
	feasible int
}

func (pl *Planner) feasible(l placement.Lone, pod *model.Pod) int {
	k := key{l, pod.Owner.UID}
	if pl.asked.key != k || pl.asked.clock != pl.clock {
		s := decision.Summary{Counts: pl.rows}
		pl.engine.Decide(pod, &s)
		pl.rows = s.Counts[:0]
		pl.asked = asked{k, pl.clock, s.Feasible}
	}
	return pl.asked.feasible
}

// held says whether a pod's coming or going moves what is held for its owner on other nodes.
func (pl *Planner) held(p *model.Pod) bool {
	return len(pl.state.HoldsOf(p.Namespace, p.Owner.UID)) > 0
}

// ownSpec is the specification to use for one of another scheduler's, so that equal ones stay equal.
func (pl *Planner) ownSpec(of, made *model.PodSpec) *model.PodSpec {
	if known := pl.specs[of]; known != nil {
		return known
	}
	if len(pl.specs) > 4096 {
		clear(pl.specs)
	}
	pl.specs[of] = made
	return made
}
