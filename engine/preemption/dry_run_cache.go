package preemption

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/fastpath"
)

// dryRunCache holds the dry-run results of all nodes for pods that are equal for every node.
type dryRunCache struct {
	demand      *podDemand
	persistent  bool     // the results are valid from one plan to the next
	results     []result // by NodeID
	tree        tree
	counts      resultCounts
	pos         int64  // position in the dirty log
	ringVersion uint64 // of the ranks
	lastUsed    uint64 // Planner.clock of the last use
}

// resultCounts are the numbers of nodes by kind of their result and by failure.
type resultCounts struct {
	kinds    [stillInfeasible + 1]int
	failures []failureCount
}

type failureCount struct {
	failure fastpath.Failure
	nodes   int
}

// add adds n nodes with a result.
func (c *resultCounts) add(r *result, n int) {
	c.kinds[r.kind] += n
	if r.kind != stillInfeasible {
		return
	}
	for i := range c.failures {
		if c.failures[i].failure == r.failure {
			c.failures[i].nodes += n
			return
		}
	}
	c.failures = append(c.failures, failureCount{r.failure, n})
}

// decisionCounts returns the counts of all nodes that are not candidates.
func (c *resultCounts) decisionCounts(n *podDemand) []decision.ReasonCount {
	var out []decision.ReasonCount
	if k := c.kinds[fitsAlready] + c.kinds[unresolvable]; k > 0 {
		out = decision.AddReasonCounts(out, &preemptionNotHelpful, k)
	}
	if k := c.kinds[noLowerPriority]; k > 0 {
		out = decision.AddReasonCounts(out, &noVictims, k)
	}
	for _, f := range c.failures {
		if f.nodes > 0 {
			out = n.AddReasonCounts(out, f.failure, f.nodes)
		}
	}
	decision.SortReasonCounts(out)
	return out
}

// update dry-runs the nodes that changed since the last update.
func (c *dryRunCache) update(d *fastDryRun) {
	x := d.nodes
	ranks, byRank, ringVersion := x.index.Ranks()
	entries, ok := x.dirty.since(c.pos)
	switch {
	case !ok || len(entries) > len(byRank):
		c.results, c.counts, c.ringVersion = make([]result, len(x.index.Rows)), resultCounts{}, 0
		for id := range c.results {
			c.results[id] = d.dryRun(c.demand, c.demand.pod, cluster.NodeID(id))
			c.counts.add(&c.results[id], 1)
		}
	default:
		for len(c.results) < len(x.index.Rows) {
			c.results = append(c.results, result{})
			c.counts.kinds[noSuchNode]++
		}
		for i, id := range entries {
			if x.dirty.last[id] == c.pos+int64(i)+1 {
				c.set(id, d.dryRun(c.demand, c.demand.pod, id), ranks)
			}
		}
	}
	if c.ringVersion != ringVersion || c.tree.size == 0 {
		c.tree.build(byRank, c.results)
		c.ringVersion = ringVersion
	}
	c.pos = x.dirty.end()
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
