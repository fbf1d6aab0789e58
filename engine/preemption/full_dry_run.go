package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// Pods whose placement depends on other nodes (affinity, spreading, volumes) are dry-run by the
// plugins, as in the reference evaluator, but only on nodes that have pods of lower priority and
// may still be the best.

// fullDryRun is one such evaluation.
type fullDryRun struct {
	*referenceEvaluator
	planner      *Planner
	allowedNodes []string // nodes that PreFilter allows, if restricted
	restricted   bool
	want         model.Resources
}

func (pl *Planner) newFullDryRun(pod *model.Pod) (g *fullDryRun, ok bool) {
	pl.counts.FullDryRun++
	trial, ok := placement.NewDryRun(pl.state, pl.profile, pod)
	g = &fullDryRun{planner: pl, referenceEvaluator: &referenceEvaluator{state: pl.state, profile: pl.profile, seed: pl.seed, options: pl.options, pod: pod,
		allowances: pl.nodes.ledger.allAllowances(), trial: trial}}
	g.allowedNodes, g.restricted = trial.PreFilterNodes()
	if slices.Contains(pl.profile.Config().Filter, decision.NodeResourcesFit) {
		g.want = pod.Spec.Requests
	}
	return g, ok
}

// nodeCode returns the verdict on a node as it is.
func (g *fullDryRun) nodeCode(id cluster.NodeID) decision.Code {
	n := g.state.Node(id)
	if g.restricted && !slices.Contains(g.allowedNodes, n.Model.Name) && n.Model.Name != g.pod.NominatedNodeName {
		return decision.UnschedulableAndUnresolvable
	}
	v, err := g.trial.FilterWithout(n.Model.Name, nil, n.Ports)
	if err != nil {
		return decision.UnschedulableAndUnresolvable
	}
	return v.Code
}

// selectCandidate stores the choice in out. resolvable is the number of nodes that are infeasible
// but not unresolvable.
func (g *fullDryRun) selectCandidate(resolvable int, out *decision.Preemption) {
	pl := g.planner
	ranks, byRank, _ := pl.nodes.index.Ranks()
	from := int(pl.nodes.index.RankAtOrAfter(placement.NewTieBreaker(g.seed, g.pod.TieKey()).Start()))
	s := &nodeScan{g: g, withoutVictims: resolvable}
	if g.restricted {
		s.visitAllowed(ranks, from)
	} else {
		for i := range byRank {
			if id := byRank[(from+i)%len(byRank)]; id >= 0 {
				s.visit(id)
			}
		}
	}
	if len(s.ties) > 0 {
		g.selectTied(s.ties, out)
		return
	}
	out.Outcome, out.ClearNomination = decision.PreemptionNoCandidates, g.pod.NominatedNodeName != ""
	out.ReasonCounts = s.counts(out.Nodes)
	if s.fault != "" {
		*out = decision.Preemption{Outcome: decision.PreemptionFailed, Nodes: out.Nodes, Error: s.fault}
	}
}

// selectTied selects one of the candidates of the lowest cost.
func (g *fullDryRun) selectTied(ties []Candidate, out *decision.Preemption) {
	best := &ties[0]
	if g.options.PreferMovable && len(ties) > 1 {
		equal := make([]*Candidate, len(ties))
		for i := range ties {
			equal[i] = &ties[i]
		}
		best = g.mostMovable(equal)
	}
	out.Outcome, out.Node, out.Victims, out.Violations = decision.PreemptionNominated, best.Node, best.Victims, best.Violations
	out.Debits = g.allowances.Debits(best.Victims)
}

// nodeScan accumulates results over the nodes.
type nodeScan struct {
	g              *fullDryRun
	least          cost
	ties           []Candidate // of the lowest cost, in tie-breaker order
	withoutVictims int         // curable nodes without pods of lower priority
	countRows      []decision.ReasonCount
	tried          int
	faults         int
	firstFault     string // first node by name that could not be evaluated
	fault          string // its error
}

// visitAllowed visits the nodes that PreFilter allows, in tie-breaker order.
func (s *nodeScan) visitAllowed(ranks []int32, from int) {
	var ids []cluster.NodeID
	for _, name := range append(slices.Clone(s.g.allowedNodes), s.g.pod.NominatedNodeName) {
		if id, ok := s.g.state.NodeID(name); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	distance := func(id cluster.NodeID) uint32 { return uint32(ranks[id] - int32(from)) }
	slices.SortFunc(ids, func(a, b cluster.NodeID) int {
		if distance(a) < distance(b) {
			return -1
		}
		return 1
	})
	for _, id := range ids {
		s.visit(id)
	}
}

// visit dry-runs a node if it may be as good as the best so far.
func (s *nodeScan) visit(id cluster.NodeID) {
	g := s.g
	low, ok := g.planner.nodes.lowerBound(id, g.pod.Spec.Priority, &g.want)
	if !ok || len(s.ties) > 0 && !low.noWorseThan(&s.least) {
		return
	}
	if g.nodeCode(id) != decision.Unschedulable {
		return
	}
	s.withoutVictims--
	c, v, err := g.selectVictimsOnNode(g.state.Node(id).Model.Name)
	switch {
	case err != nil:
		name := g.state.Node(id).Model.Name
		if s.faults++; s.fault == "" || name < s.firstFault {
			s.firstFault, s.fault = name, err.Error()
		}
		return
	case v.Code != decision.Success:
		s.countRows = decision.AddReasonCounts(s.countRows, &v, 1)
		s.tried++
		return
	}
	k := costOf(c.Victims, c.Violations)
	switch d := k.compare(&s.least); {
	case len(s.ties) == 0 || d < 0:
		s.least, s.ties = k, append(s.ties[:0], c)
	case d == 0 && len(s.ties) < movableTies:
		s.ties = append(s.ties, c)
	}
}

// counts returns the rows for the case that preemption helps on no node.
func (s *nodeScan) counts(nodes int) []decision.ReasonCount {
	out := s.countRows
	if s.withoutVictims > 0 {
		out = decision.AddReasonCounts(out, &noVictims, s.withoutVictims)
	}
	if k := nodes - s.withoutVictims - s.tried - s.faults; k > 0 {
		out = decision.AddReasonCounts(out, &notHelped, k)
	}
	decision.SortReasonCounts(out)
	return out
}

// allAllowances returns the allowances of all budgets.
func (b *ledger) allAllowances() *budget.Allowances {
	a := &budget.Allowances{Rule: b.rule}
	for i := range b.entries {
		a.Budgets, a.Allowed = append(a.Budgets, b.entries[i].budget), append(a.Allowed, b.entries[i].allowed)
	}
	return a
}
