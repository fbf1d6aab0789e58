package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// fullDryRun evaluates preemption for a pod whose placement depends on other nodes (affinity, spreading, volumes). The
// plugins dry-run the nodes, as in the reference evaluator. fullDryRun skips nodes that have no pod of lower priority
// or cannot be the best.
type fullDryRun struct {
	*referenceEvaluator
	planner      *Planner
	allowedNodes []string // nodes that PreFilter allows, if restricted
	restricted   bool
	requests     model.Resources
}

func (pl *Planner) newFullDryRun(pod *model.Pod) (d *fullDryRun, ok bool) {
	pl.counts.FullDryRun++
	dryRun, ok := placement.NewDryRun(pl.state, pl.profile, pod)
	d = &fullDryRun{planner: pl, referenceEvaluator: &referenceEvaluator{state: pl.state, profile: pl.profile, seed: pl.seed, options: pl.options, pod: pod,
		allowances: pl.nodes.ledger.allAllowances(), dryRun: dryRun}}
	d.allowedNodes, d.restricted = dryRun.PreFilterNodes()
	if slices.Contains(pl.profile.Config().Filter, decision.NodeResourcesFit) {
		d.requests = pod.Spec.Requests
	}
	return d, ok
}

// nodeCode returns the code of the verdict on a node without evictions.
func (d *fullDryRun) nodeCode(id cluster.NodeID) decision.Code {
	n := d.state.Node(id)
	if d.restricted && !slices.Contains(d.allowedNodes, n.Model.Name) && n.Model.Name != d.pod.NominatedNodeName {
		return decision.UnschedulableAndUnresolvable
	}
	v, err := d.dryRun.FilterWithout(n.Model.Name, nil, n.Ports)
	if err != nil {
		return decision.UnschedulableAndUnresolvable
	}
	return v.Code
}

// selectCandidate stores the choice in out. resolvable is the number of nodes that are infeasible
// but not unresolvable.
func (d *fullDryRun) selectCandidate(resolvable int, out *decision.Preemption) {
	pl := d.planner
	ranks, byRank, _ := pl.nodes.index.Ranks()
	from := int(pl.nodes.index.RankAtOrAfter(placement.NewTieBreaker(d.seed, d.pod.TieKey()).Start()))
	s := &nodeScan{dryRun: d, withoutVictims: resolvable}
	if d.restricted {
		s.visitAllowed(ranks, from)
	} else {
		for i := range byRank {
			if id := byRank[(from+i)%len(byRank)]; id >= 0 {
				s.visit(id)
			}
		}
	}
	if len(s.ties) > 0 {
		d.selectTied(s.ties, out)
		return
	}
	out.Outcome, out.ClearNomination = decision.PreemptionNoCandidates, d.pod.NominatedNodeName != ""
	out.ReasonCounts = s.counts(out.Nodes)
	if s.err != "" {
		*out = decision.Preemption{Outcome: decision.PreemptionFailed, Nodes: out.Nodes, Error: s.err}
	}
}

// selectTied selects one of the candidates of the lowest cost.
func (d *fullDryRun) selectTied(ties []Candidate, out *decision.Preemption) {
	best := &ties[0]
	if d.options.PreferMovable && len(ties) > 1 {
		equal := make([]*Candidate, len(ties))
		for i := range ties {
			equal[i] = &ties[i]
		}
		best = d.mostMovable(equal)
	}
	out.Outcome, out.Node, out.Victims, out.Violations = decision.PreemptionNominated, best.Node, best.Victims, best.Violations
	out.Debits = d.allowances.Debits(best.Victims)
}

// nodeScan accumulates results over the nodes.
type nodeScan struct {
	dryRun         *fullDryRun
	lowest         cost
	ties           []Candidate // of the lowest cost, in tie-breaker order
	withoutVictims int         // resolvable nodes without pods of lower priority
	reasonCounts   []decision.ReasonCount
	rejected       int    // nodes where the pod does not fit after evictions
	failed         int    // nodes that could not be evaluated
	failedNode     string // the first of them by name
	err            string // its error
}

// visitAllowed visits the nodes that PreFilter allows, in tie-breaker order.
func (s *nodeScan) visitAllowed(ranks []int32, from int) {
	var ids []cluster.NodeID
	for _, name := range append(slices.Clone(s.dryRun.allowedNodes), s.dryRun.pod.NominatedNodeName) {
		if id, ok := s.dryRun.state.NodeID(name); ok && !slices.Contains(ids, id) {
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
	d := s.dryRun
	low, ok := d.planner.nodes.lowerBound(id, d.pod.Spec.Priority, &d.requests)
	if !ok || len(s.ties) > 0 && !low.noWorseThan(&s.lowest) {
		return
	}
	if d.nodeCode(id) != decision.Unschedulable {
		return
	}
	s.withoutVictims--
	c, v, err := d.selectVictimsOnNode(d.state.Node(id).Model.Name)
	switch {
	case err != nil:
		name := d.state.Node(id).Model.Name
		if s.failed++; s.err == "" || name < s.failedNode {
			s.failedNode, s.err = name, err.Error()
		}
		return
	case v.Code != decision.Success:
		s.reasonCounts = decision.AddReasonCounts(s.reasonCounts, &v, 1)
		s.rejected++
		return
	}
	k := costOf(c.Victims, c.Violations)
	switch order := k.compare(&s.lowest); {
	case len(s.ties) == 0 || order < 0:
		s.lowest, s.ties = k, append(s.ties[:0], c)
	case order == 0 && len(s.ties) < movableTies:
		s.ties = append(s.ties, c)
	}
}

// counts returns the reasons why preemption makes the pod schedulable on no node.
func (s *nodeScan) counts(nodes int) []decision.ReasonCount {
	out := s.reasonCounts
	if s.withoutVictims > 0 {
		out = decision.AddReasonCounts(out, &noVictims, s.withoutVictims)
	}
	if k := nodes - s.withoutVictims - s.rejected - s.failed; k > 0 {
		out = decision.AddReasonCounts(out, &preemptionNotHelpful, k)
	}
	decision.SortReasonCounts(out)
	return out
}

func (l *ledger) allAllowances() *budget.Allowances {
	a := &budget.Allowances{Rule: l.rule}
	for i := range l.entries {
		a.Budgets, a.Allowed = append(a.Budgets, l.entries[i].budget), append(a.Allowed, l.entries[i].allowed)
	}
	return a
}
