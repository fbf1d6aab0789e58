package preemption

import (
	"math"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// nodeSummary bounds the cost of preemption on a node from below. It fills one cache line of the
// processor.
type nodeSummary struct {
	lowestPriority int32 // undefined without pods
	pods           int32
	// latestStarts are the latest start times among the pods of the lowest priority, in descending
	// order. If there are fewer pods, the others are math.MinInt64.
	latestStarts     [3]int64
	maxCPU, maxMem   int64 // the largest request of one pod
	freeCPU, freeMem int64
}

func (onNode *podsOnNode) summarize(r *cluster.Row) nodeSummary {
	b := nodeSummary{pods: int32(len(onNode.pods)), freeCPU: r.AllocCPU - r.UsedCPU, freeMem: r.AllocMem - r.UsedMem}
	for i := range onNode.pods {
		s := &onNode.pods[i]
		b.maxCPU, b.maxMem = max(b.maxCPU, s.cpu), max(b.maxMem, s.mem)
	}
	for i := range b.latestStarts {
		b.latestStarts[i] = math.MinInt64
		if k := len(onNode.pods) - 1 - i; k >= 0 && (i == 0 || onNode.pods[k].priority == b.lowestPriority) {
			b.lowestPriority, b.latestStarts[i] = onNode.pods[k].priority, onNode.pods[k].start
		}
	}
	return b
}

// lowerBound returns a lower bound of the cost of preemption on a node. It assumes the minimum number of victims that
// free the missing amounts, all of the lowest priority. Their start is the latest that so many victims allow. ok is
// false if the node has no pod of lower priority.
func (t *nodeIndex) lowerBound(id cluster.NodeID, priority int32, requests *model.Resources) (c cost, ok bool) {
	b := &t.summaries[id]
	if b.pods == 0 || b.lowestPriority >= priority {
		return c, false
	}
	n := max(1, minVictims(requests.MilliCPU, b.freeCPU, b.maxCPU), minVictims(requests.Memory, b.freeMem, b.maxMem))
	return cost{highest: b.lowestPriority, sum: n * (int64(b.lowestPriority) + 1<<31), victims: int32(n), earliestStart: b.latestStarts[min(n, 3)-1]}, true
}

// minVictims returns how many pods of at most the given size must be evicted for the requested amount to fit. It
// returns 0 if none must be, or if evictions do not help. It stops counting at 8.
func minVictims(requested, free, largest int64) int64 {
	if requested <= 0 || requested <= free || largest <= 0 {
		return 0
	}
	for n := int64(1); n <= 8; n++ { // faster than a division
		if free += largest; requested <= free {
			return n
		}
	}
	return 8
}

// noWorseThan reports whether a node whose cost is at least c may be as good as the best so far.
func (c *cost) noWorseThan(lowest *cost) bool { return c.compare(lowest) <= 0 }
