package preemption

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/fastpath"
)

// dryRunCache holds the dry-run results of all nodes for pods that are equal for every node.
type dryRunCache struct {
	needs      *needs
	persistent bool     // the results are valid from one plan to the next
	results    []result // by NodeID
	tree       tree
	counts     resultCounts
	pos        int64  // position in the dirty log
	order      uint64 // version of the ranks
	lastUsed   uint64 // Planner.clock of the last use
}

// resultCounts counts results.
type resultCounts struct {
	kinds [stillInfeasible + 1]int
	fails []failCount
}

type failCount struct {
	fail  fastpath.Failure
	nodes int
}

func (t *resultCounts) add(r *result, n int) {
	t.kinds[r.kind] += n
	if r.kind != stillInfeasible {
		return
	}
	for i := range t.fails {
		if t.fails[i].fail == r.fail {
			t.fails[i].nodes += n
			return
		}
	}
	t.fails = append(t.fails, failCount{r.fail, n})
}

// decisionCounts returns the counts of all nodes that are not candidates.
func (t *resultCounts) decisionCounts(n *needs) []decision.ReasonCount {
	var out []decision.ReasonCount
	if k := t.kinds[fitsAlready] + t.kinds[unresolvable]; k > 0 {
		out = decision.AddReasonCounts(out, &notHelped, k)
	}
	if k := t.kinds[noLowerPriority]; k > 0 {
		out = decision.AddReasonCounts(out, &noVictims, k)
	}
	for _, f := range t.fails {
		if f.nodes > 0 {
			out = n.AddReasonCounts(out, f.fail, f.nodes)
		}
	}
	decision.SortReasonCounts(out)
	return out
}

// update dry-runs the nodes that changed since the last update.
func (c *dryRunCache) update(l *fastDryRun) {
	t := l.nodes
	ranks, byRank, order := t.index.Ranks()
	entries, ok := t.dirty.since(c.pos)
	switch {
	case !ok || len(entries) > len(byRank):
		c.results, c.counts, c.order = make([]result, len(t.index.Rows)), resultCounts{}, 0
		for id := range c.results {
			c.results[id] = l.dryRun(c.needs, c.needs.pod, cluster.NodeID(id))
			c.counts.add(&c.results[id], 1)
		}
	default:
		for len(c.results) < len(t.index.Rows) {
			c.results = append(c.results, result{})
			c.counts.kinds[noSuchNode]++
		}
		for i, id := range entries {
			if t.dirty.last[id] == c.pos+int64(i)+1 {
				c.set(id, l.dryRun(c.needs, c.needs.pod, id), ranks)
			}
		}
	}
	if c.order != order || c.tree.size == 0 {
		c.tree.build(byRank, c.results)
		c.order = order
	}
	c.pos = t.dirty.end()
}

// set stores a node's result.
func (c *dryRunCache) set(id cluster.NodeID, r result, ranks []int32) {
	old := c.results[id]
	if old == r {
		return
	}
	c.counts.add(&old, -1)
	c.counts.add(&r, 1)
	c.results[id] = r
	if rank := ranks[id]; rank >= 0 && int(rank) < c.tree.size {
		c.tree.set(rank, id, c.results)
	}
}
