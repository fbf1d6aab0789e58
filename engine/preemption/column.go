package preemption

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement"
)

// column is what trying each node came to for pods that are the same to all of them.
type column struct {
	needs *needs
	kept  bool     // what is in it holds from one plan to the next
	of    []result // by NodeID
	tree  tree
	tally tally
	pos   int64  // of the dirty log
	order uint64 // version of the ranks
	used  uint64 // Planner.clock when last asked
}

// tally counts results.
type tally struct {
	kinds [stillOut + 1]int
	fails []failCount
}

type failCount struct {
	fail  placement.Fail
	nodes int
}

func (t *tally) add(r *result, n int) {
	t.kinds[r.kind] += n
	if r.kind != stillOut {
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

// counts are the rows of all nodes that are no candidates.
func (t *tally) counts(n *needs) []decision.Count {
	var out []decision.Count
	if k := t.kinds[notNeeded] + t.kinds[hopeless]; k > 0 {
		out = placement.Tell(out, &notHelped, k)
	}
	if k := t.kinds[nobody]; k > 0 {
		out = placement.Tell(out, &noVictims, k)
	}
	for _, f := range t.fails {
		if f.nodes > 0 {
			out = n.Tell(out, f.fail, f.nodes)
		}
	}
	placement.SortCounts(out)
	return out
}

// catchUp tries again the nodes that have changed since the column was last asked.
func (c *column) catchUp(l *lean) {
	t := l.stacks
	ranks, byRank, order := t.index.Ranks()
	entries, ok := t.dirty.since(c.pos)
	switch {
	case !ok || len(entries) > len(byRank):
		c.of, c.tally, c.order = make([]result, len(t.index.Rows)), tally{}, 0
		for id := range c.of {
			c.of[id] = l.try(c.needs, c.needs.pod, cluster.NodeID(id))
			c.tally.add(&c.of[id], 1)
		}
	default:
		for len(c.of) < len(t.index.Rows) {
			c.of = append(c.of, result{})
			c.tally.kinds[absent]++
		}
		for i, id := range entries {
			if t.dirty.last[id] == c.pos+int64(i)+1 {
				c.put(id, l.try(c.needs, c.needs.pod, id), ranks)
			}
		}
	}
	if c.order != order || c.tree.size == 0 {
		c.tree.build(byRank, c.of)
		c.order = order
	}
	c.pos = t.dirty.end()
}

// put notes what trying a node came to.
func (c *column) put(id cluster.NodeID, r result, ranks []int32) {
	old := c.of[id]
	if old == r {
		return
	}
	c.tally.add(&old, -1)
	c.tally.add(&r, 1)
	c.of[id] = r
	if rank := ranks[id]; rank >= 0 && int(rank) < c.tree.size {
		c.tree.set(rank, id, c.of)
	}
}

// bytes is about what the column takes.
func (c *column) bytes() int { return 48*cap(c.of) + 8*cap(c.tree.wins) }
