package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// Pods to which more matters than the node itself (affinity, spreading, volumes) are
// tried by the rules, as on the plain path, but only where somebody of lower priority is, and
// only on nodes that may still be the best.

// guarded is one such search.
type guarded struct {
	*reference
	planner *Planner
	names   []string // what the search is narrowed to
	narrow  bool
	want    model.Requests
}

func (pl *Planner) guarded(pod *model.Pod) (g *guarded, ok bool) {
	pl.counts.Guarded++
	trial, ok := placement.NewTrial(pl.state, pl.profile, pod)
	g = &guarded{planner: pl, reference: &reference{state: pl.state, profile: pl.profile, seed: pl.seed, options: pl.options, pod: pod,
		account: pl.stacks.books.whole(), trial: trial}}
	g.names, g.narrow = trial.Narrowed()
	if slices.Contains(pl.profile.Config().Filter, decision.NodeResourcesFit) {
		g.want = pod.Spec.Requests
	}
	return g, ok
}

// code is the verdict on a node as it is.
func (g *guarded) code(id cluster.NodeID) decision.Code {
	n := g.state.Node(id)
	if g.narrow && !slices.Contains(g.names, n.Model.Name) && n.Model.Name != g.pod.Nominated {
		return decision.Unresolvable
	}
	v, err := g.trial.Without(n.Model.Name, nil, n.Ports)
	if err != nil {
		return decision.Unresolvable
	}
	return v.Code
}

// choose fills in the choice. curable is how many nodes are out, but not for good.
func (g *guarded) choose(curable int, out *decision.Preemption) {
	pl := g.planner
	ranks, byRank, _ := pl.stacks.index.Ranks()
	from := int(pl.stacks.index.RankFrom(placement.TiesOf(g.seed, g.pod.TieKey()).Point()))
	s := &survey{g: g, left: curable}
	if g.narrow {
		s.narrowed(ranks, from)
	} else {
		for i := range byRank {
			if id := byRank[(from+i)%len(byRank)]; id >= 0 {
				s.look(id)
			}
		}
	}
	if len(s.ties) > 0 {
		g.take(s.ties, out)
		return
	}
	out.Tried, out.Clears = decision.NoneHelps, g.pod.Nominated != ""
	out.Counts = s.counts(out.Nodes)
	if s.fault != "" {
		*out = decision.Preemption{Tried: decision.TriedError, Nodes: out.Nodes, Error: s.fault}
	}
}

// take takes one of the candidates of the lowest cost.
func (g *guarded) take(ties []Candidate, out *decision.Preemption) {
	best := &ties[0]
	if g.options.PreferMovable && len(ties) > 1 {
		equal := make([]*Candidate, len(ties))
		for i := range ties {
			equal[i] = &ties[i]
		}
		best = g.mostMovable(equal)
	}
	out.Tried, out.Node, out.Victims, out.Violations = decision.Nominated, best.Node, best.Victims, best.Violations
	out.Debits = g.account.Debits(best.Victims)
}

// survey is what is known on the way through the nodes.
type survey struct {
	g      *guarded
	least  cost
	ties   []Candidate // of the least cost, in the order of ties
	left   int         // curable nodes without anybody of lower priority
	rows   []decision.Count
	tried  int
	faults int
	first  string // the first node by name that could not be judged
	fault  string // why
}

// narrowed looks at the nodes that the search is narrowed to, in the order of ties.
func (s *survey) narrowed(ranks []int32, from int) {
	var ids []cluster.NodeID
	for _, name := range append(slices.Clone(s.g.names), s.g.pod.Nominated) {
		if id, ok := s.g.state.NodeID(name); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	ahead := func(id cluster.NodeID) uint32 { return uint32(ranks[id] - int32(from)) }
	slices.SortFunc(ids, func(a, b cluster.NodeID) int {
		if ahead(a) < ahead(b) {
			return -1
		}
		return 1
	})
	for _, id := range ids {
		s.look(id)
	}
}

// look tries a node, if it may be as good as the best so far.
func (s *survey) look(id cluster.NodeID) {
	g := s.g
	low, ok := g.planner.stacks.bound(id, g.pod.Spec.Priority, &g.want)
	if !ok || len(s.ties) > 0 && !low.beats(&s.least) {
		return
	}
	if g.code(id) != decision.Unschedulable {
		return
	}
	s.left--
	c, v, err := g.try(g.state.Node(id).Model.Name)
	switch {
	case err != nil:
		name := g.state.Node(id).Model.Name
		if s.faults++; s.fault == "" || name < s.first {
			s.first, s.fault = name, err.Error()
		}
		return
	case v.Code != decision.Fits:
		s.rows = placement.Tell(s.rows, &v, 1)
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

// counts are the rows when no node can be helped.
func (s *survey) counts(nodes int) []decision.Count {
	out := s.rows
	if s.left > 0 {
		out = placement.Tell(out, &noVictims, s.left)
	}
	if k := nodes - s.left - s.tried - s.faults; k > 0 {
		out = placement.Tell(out, &notHelped, k)
	}
	placement.SortCounts(out)
	return out
}

// whole is the account of all budgets.
func (b *books) whole() *budget.Account {
	a := &budget.Account{Rule: b.rule}
	for i := range b.pages {
		a.Budgets, a.Allowed = append(a.Budgets, b.pages[i].budget), append(a.Allowed, b.pages[i].allowed)
	}
	return a
}
