package preemption

import (
	"cmp"

	"github.com/berthproject/berth/engine/model"
)

// compareImportance orders pods by descending importance: higher priority first, then earlier
// start. A pod without a start time counts as started last.
func compareImportance(a, b *model.Pod) int {
	return cmp.Or(
		-cmp.Compare(a.Spec.Priority, b.Spec.Priority),
		compareStart(a, b),
		cmp.Compare(a.UID, b.UID))
}

func compareStart(a, b *model.Pod) int { return cmp.Compare(startSeconds(a), startSeconds(b)) }

// notStarted is later than any start.
const notStarted = 1<<63 - 1

// startSeconds returns when a pod started, in Unix seconds, the precision of the API; notStarted if
// it has no start time.
func startSeconds(p *model.Pod) int64 {
	if p.Started.IsZero() {
		return notStarted
	}
	return p.Started.Unix()
}
