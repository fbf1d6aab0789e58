package preemption

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// bound is a cost that making room for a pod on a node cannot be below of: at least
// so many of the lowest priority leave as free the missing amounts, and they all started no later
// than the last. ok is false when nobody of lower priority is there.
func (t *stacks) bound(id cluster.NodeID, priority int32, want *model.Requests) (c cost, ok bool) {
	b := &t.brief[id]
	if b.pods == 0 || b.low >= priority {
		return c, false
	}
	r := &t.index.Rows[id]
	n := max(1, atLeast(want.MilliCPU, r.AllocCPU-r.UsedCPU, b.cpu), atLeast(want.Memory, r.AllocMem-r.UsedMem, b.mem))
	return cost{highest: b.low, sum: n * (int64(b.low) + 1<<31), victims: int32(n), start: b.late}, true
}

// atLeast is how many of at most most have to leave so that want fits; 0 when it
// does, or when nobody's leaving helps.
func atLeast(want, free, most int64) int64 {
	if want <= 0 || want <= free || most <= 0 {
		return 0
	}
	return min((want-free+most-1)/most, 1<<20)
}

// beats says whether a node whose cost is at least bound may be as good as the best so far.
func (c *cost) beats(least *cost) bool { return c.compare(least) <= 0 }
