package workload

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
)

// RankForDeletion returns the indexes of the pods in deletion order. podsByNode is the number of pods of the
// same workload by node, or nil.
//
// The order is upstream's: unbound, not running, not ready, lower deletion cost, more pods on the same node. Then:
// ready for a shorter time, more restarts of containers, more restarts of sidecars, younger. Times are compared by the
// power of two of their age in seconds; the UID breaks ties.
func RankForDeletion(now time.Time, pods []Pod, podsByNode map[string]int) []int {
	indexes := make([]int, len(pods))
	for i := range indexes {
		indexes[i] = i
	}
	slices.SortStableFunc(indexes, func(i, j int) int {
		a, b := &pods[i], &pods[j]
		return cmp.Or(
			order.TrueFirst(a.Node == "", b.Node == ""),
			cmp.Compare(phaseRank[a.Phase], phaseRank[b.Phase]),
			order.TrueFirst(!a.Ready, !b.Ready),
			cmp.Compare(a.Cost, b.Cost),
			cmp.Compare(podsByNode[b.Node], podsByNode[a.Node]),
			compareReadySince(now, a, b),
			cmp.Compare(b.Restarts, a.Restarts),
			cmp.Compare(b.SidecarRestarts, a.SidecarRestarts),
			compareAge(now, a.Created, b.Created, a.UID, b.UID),
			cmp.Compare(a.UID, b.UID),
		)
	})
	return indexes
}

// phaseRank orders pending before unknown before running pods.
var phaseRank = [...]int{model.Pending: 0, model.UnknownPhase: 1, model.Running: 2, model.Succeeded: 3, model.Failed: 3}

func compareReadySince(now time.Time, a, b *Pod) int {
	if !a.Ready || !b.Ready || a.ReadySince.Equal(b.ReadySince) {
		return 0
	}
	return compareAge(now, a.ReadySince, b.ReadySince, a.UID, b.UID)
}

// compareAge orders the later time first, and an unknown time before all others. Different times of equal
// magnitude are ordered by UID.
func compareAge(now, a, b time.Time, aUID, bUID string) int {
	if a.Equal(b) {
		return 0
	}
	if a.IsZero() || b.IsZero() {
		return order.TrueFirst(a.IsZero(), b.IsZero())
	}
	return cmp.Or(cmp.Compare(ageMagnitude(now.Sub(a)), ageMagnitude(now.Sub(b))), cmp.Compare(aUID, bUID))
}

// ageMagnitude returns the power of two of an age in seconds; -1 below a second.
func ageMagnitude(age time.Duration) int { return bits.Len64(uint64(max(0, age/time.Second))) - 1 }
