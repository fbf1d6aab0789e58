package preemption

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/fastpath"
)

// selectCandidate stores the choice for a pod of the cache's class in out.
func (pl *Planner) selectCandidate(c *dryRunCache, pod *model.Pod, out *decision.Preemption) {
	x := pl.nodes.index
	ranks, _, _ := x.Ranks()
	from := x.RankAtOrAfter(placement.NewTieBreaker(pl.seed, pod.TieKey()).Start())
	limit := 1
	if pl.options.PreferMovable {
		limit = movableTies
	}
	if !c.persistent {
		pl.counts.Scanned++
		pl.scan(c, pod, from, limit)
	} else {
		pl.counts.Cached++
		c.update(&pl.fastDryRun)
		if nominatedNode, ok := pl.state.NodeID(pod.NominatedNodeName); ok { // the pod's own nomination does not count
			previous := c.results[nominatedNode]
			c.set(nominatedNode, pl.fastDryRun.dryRun(c.demand, pod, nominatedNode), ranks)
			defer func() { c.set(nominatedNode, previous, ranks) }()
		}
		pl.ties = c.tree.best(pl.ties[:0], from, limit, c.results)
	}
	if len(pl.ties) == 0 {
		out.Outcome, out.ClearNomination, out.ReasonCounts = decision.PreemptionNoCandidates, pod.NominatedNodeName != "", c.counts.decisionCounts(c.demand)
		return
	}
	id := pl.ties[0]
	if len(pl.ties) > 1 {
		id = pl.mostMovable(c.demand, pod)
	}
	r := pl.fastDryRun.dryRun(c.demand, pod, id)
	out.Outcome, out.Node = decision.PreemptionNominated, pl.state.Node(id).Model.Name
	out.Victims = append(out.Victims, pl.fastDryRun.sortedVictims(id)...)
	out.Violations = int(r.cost.violations)
	if onNode := &pl.nodes.byID[id]; onNode.budgets != nil {
		out.Debits = pl.nodes.ledger.nodeAllowances(onNode).Debits(out.Victims)
	}
}

// scan stores the nodes of the lowest cost in ties and skips nodes that cannot be among them. If
// there is no candidate, it has evaluated all nodes.
func (pl *Planner) scan(c *dryRunCache, pod *model.Pod, from int32, limit int) {
	t := &pl.nodes
	_, byRank, _ := t.index.Ranks()
	c.counts = resultCounts{}
	pl.ties = pl.ties[:0]
	var lowest cost
	for i := range byRank {
		rank := int(from) + i
		if rank >= len(byRank) {
			rank -= len(byRank)
		}
		id := byRank[rank]
		if id < 0 {
			continue
		}
		if len(pl.ties) > 0 {
			if low, ok := t.lowerBound(id, pod.Spec.Priority, &c.demand.amounts); !ok || !low.noWorseThan(&lowest) {
				continue
			}
		}
		r := pl.fastDryRun.dryRun(c.demand, pod, id)
		c.counts.add(&r, 1)
		if r.kind != fitsAfterEviction {
			continue
		}
		switch order := r.cost.compare(&lowest); {
		case len(pl.ties) == 0 || order < 0:
			lowest, pl.ties = r.cost, append(pl.ties[:0], id)
		case order == 0 && len(pl.ties) < limit:
			pl.ties = append(pl.ties, id)
		}
	}
}

// mostMovable returns the first tied node with the fewest victims that cannot move.
func (pl *Planner) mostMovable(n *podDemand, pod *model.Pod) cluster.NodeID {
	best, fewest := pl.ties[0], 1<<30
	for _, id := range pl.ties {
		pl.fastDryRun.dryRun(n, pod, id)
		immovable := 0
		for _, v := range pl.fastDryRun.sortedVictims(id) {
			if boundToNode(v) || !pl.movable(pod, id, v) {
				immovable++
			}
		}
		if immovable < fewest {
			best, fewest = id, immovable
		}
		if immovable == 0 {
			break
		}
	}
	return best
}

// movable is a faster variant of the function movable for a preemptor whose placement depends on
// the node alone. If that also holds for the victim, preemption does not change the other nodes.
func (pl *Planner) movable(preemptor *model.Pod, id cluster.NodeID, victim *model.Pod) bool {
	replacement := &pl.scratchPod
	fillReplacement(replacement, pl.profile.Name(), victim)
	if replacement.Spec != victim.Spec {
		replacement.Spec = pl.internSpec(victim.Spec, replacement.Spec)
	}
	l, ok := pl.engine.NodeLocal(replacement)
	if !ok || preemptor.NominatedNodeName != "" || pl.affectsHolds(preemptor) || pl.affectsHolds(victim) {
		return movable(pl.state, pl.profile, preemptor, pl.state.Node(id).Model.Name, victim)
	}
	feasible := pl.feasible(l, replacement)
	if feasible > 0 && pl.fastDryRun.dryRun(demandOf(l, replacement), replacement, id).kind == fitsAlready {
		feasible--
	}
	return feasible > 0
}

// feasibleMemo is the number of nodes feasible for a class of pods in the current plan. Equal
// candidates tend to have equal victims.
type feasibleMemo struct {
	key      equivalenceKey
	clock    uint64
	feasible int
}

// feasible returns the number of nodes that are feasible for the class of a pod.
func (pl *Planner) feasible(l fastpath.NodeLocalPod, pod *model.Pod) int {
	k := equivalenceKey{l, pod.Owner.UID}
	if pl.feasibleMemo.key != k || pl.feasibleMemo.clock != pl.clock {
		s := decision.Summary{ReasonCounts: pl.scratchCounts}
		pl.engine.Decide(pod, &s)
		pl.scratchCounts = s.ReasonCounts[:0]
		pl.feasibleMemo = feasibleMemo{k, pl.clock, s.Feasible}
	}
	return pl.feasibleMemo.feasible
}

// affectsHolds reports whether adding or removing the pod changes what Holds reserve on other
// nodes.
func (pl *Planner) affectsHolds(p *model.Pod) bool {
	return len(pl.state.HoldsOf(p.Namespace, p.Owner.UID)) > 0
}

// maxSpecBytes limits the memory of Planner.specs.
const maxSpecBytes = 16 << 20

// internSpec returns one copy, with the profile's scheduler name, for each specification of another
// scheduler, so that the replacements of equal victims share a class.
func (pl *Planner) internSpec(spec, copied *model.PodSpec) *model.PodSpec {
	if interned := pl.specs[spec]; interned != nil {
		return interned
	}
	pl.specBytes += spec.Bytes()
	if len(pl.specs) > 4096 || pl.specBytes > maxSpecBytes {
		clear(pl.specs)
		pl.specBytes = spec.Bytes()
	}
	pl.specs[spec] = copied
	return copied
}
