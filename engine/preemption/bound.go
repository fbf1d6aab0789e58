package preemption

import (
	"math"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// brief is what bounds the cost of making room on a node from below. It fills one line
// of a processor's cache.
type brief struct {
	low  int32 // the lowest priority of a pod here; meaningless without pods
	pods int32
	// late are the starts of the last to start among the pods of the lowest priority, the
	// latest first; earlier than any start where there are no more of these.
	late             [3]int64
	cpu, mem         int64 // the most that one pod takes
	freeCPU, freeMem int64
}

func (st *stack) brief(r *cluster.Row) brief {
	b := brief{pods: int32(len(st.seats)), freeCPU: r.AllocCPU - r.UsedCPU, freeMem: r.AllocMem - r.UsedMem}
	for i := range st.seats {
		s := &st.seats[i]
		b.cpu, b.mem = max(b.cpu, s.cpu), max(b.mem, s.mem)
	}
	for i := range b.late {
		b.late[i] = math.MinInt64
		if at := len(st.seats) - 1 - i; at >= 0 && (i == 0 || st.seats[at].priority == b.low) {
			b.low, b.late[i] = st.seats[at].priority, st.seats[at].start
		}
	}
	return b
}

// bound is a cost that making room for a pod on a node cannot be below of: at least
// so many pods leave as free the missing amounts; all are of at least the lowest priority,
// and if they are of no higher one, the one that started first did not start after that many
// others. ok is false when nobody of lower priority is there.
func (t *stacks) bound(id cluster.NodeID, priority int32, want *model.Requests) (c cost, ok bool) {
	b := &t.brief[id]
	if b.pods == 0 || b.low >= priority {
		return c, false
	}
	n := max(1, atLeast(want.MilliCPU, b.freeCPU, b.cpu), atLeast(want.Memory, b.freeMem, b.mem))
	return cost{highest: b.low, sum: n * (int64(b.low) + 1<<31), victims: int32(n), start: b.late[min(n, 3)-1]}, true
}

// atLeast is how many pods of at most most have to leave so that want fits; 0 when it
// does, or when nobody's leaving helps. It need not be more than a few.
func atLeast(want, free, most int64) int64 {
	if want <= 0 || want <= free || most <= 0 {
		return 0
	}
	for n := int64(1); n <= 8; n++ { // a division takes longer
		if free += most; want <= free {
			return n
		}
	}
	return 8
}

// beats says whether a node whose cost is at least c may be as good as the best so far.
func (c *cost) beats(least *cost) bool { return c.compare(least) <= 0 }
