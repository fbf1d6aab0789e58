package preemption

import (
	"math"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// nodeSummary is what bounds the cost of making room on a node from below. It fills one line
// of a processor's cache.
type nodeSummary struct {
	lowestPriority int32 // the lowest priority of a pod here; meaningless without pods
	pods           int32
	// latestStarts are the starts of the last to start among the pods of the lowest priority, the
	// latest first; earlier than any start where there are no more of these.
	latestStarts     [3]int64
	maxCPU, maxMem   int64 // the most that one pod takes
	freeCPU, freeMem int64
}

func (st *podsOnNode) summarize(r *cluster.Row) nodeSummary {
	b := nodeSummary{pods: int32(len(st.pods)), freeCPU: r.AllocCPU - r.UsedCPU, freeMem: r.AllocMem - r.UsedMem}
	for i := range st.pods {
		s := &st.pods[i]
		b.maxCPU, b.maxMem = max(b.maxCPU, s.cpu), max(b.maxMem, s.mem)
	}
	for i := range b.latestStarts {
		b.latestStarts[i] = math.MinInt64
		if at := len(st.pods) - 1 - i; at >= 0 && (i == 0 || st.pods[at].priority == b.lowestPriority) {
			b.lowestPriority, b.latestStarts[i] = st.pods[at].priority, st.pods[at].start
		}
	}
	return b
}

// lowerBound is a cost that making room for a pod on a node cannot be below of: at least
// so many pods leave as free the missing amounts; all are of at least the lowest priority,
// and if they are of no higher one, the one that started first did not start after that many
// others. ok is false when nobody of lower priority is there.
func (t *nodeIndex) lowerBound(id cluster.NodeID, priority int32, want *model.Resources) (c cost, ok bool) {
	b := &t.summaries[id]
	if b.pods == 0 || b.lowestPriority >= priority {
		return c, false
	}
	n := max(1, minVictims(want.MilliCPU, b.freeCPU, b.maxCPU), minVictims(want.Memory, b.freeMem, b.maxMem))
	return cost{highest: b.lowestPriority, sum: n * (int64(b.lowestPriority) + 1<<31), victims: int32(n), earliestStart: b.latestStarts[min(n, 3)-1]}, true
}

// minVictims is how many pods of at most most have to leave so that want fits; 0 when it
// does, or when nobody's leaving helps. It need not be more than a few.
func minVictims(want, free, limit int64) int64 {
	if want <= 0 || want <= free || limit <= 0 {
		return 0
	}
	for n := int64(1); n <= 8; n++ { // a division takes longer
		if free += limit; want <= free {
			return n
		}
	}
	return 8
}

// noWorseThan says whether a node whose cost is at least c may be as good as the best so far.
func (c *cost) noWorseThan(least *cost) bool { return c.compare(least) <= 0 }
