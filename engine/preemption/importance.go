package preemption

import (
	"cmp"

	"github.com/berthproject/berth/engine/model"
)

// compareImportance orders pods by descending importance: higher priority first, then earlier
// start. A pod that has not started counts as starting now.
func compareImportance(a, b *model.Pod) int {
	return cmp.Or(
		-cmp.Compare(a.Spec.Priority, b.Spec.Priority),
		compareStart(a, b),
		cmp.Compare(a.UID, b.UID))
}

func compareStart(a, b *model.Pod) int { return cmp.Compare(startSeconds(a), startSeconds(b)) }

// notStarted is later than any start.
const notStarted = 1<<63 - 1

// startSeconds returns when a pod started, in seconds, the API's precision.
func startSeconds(p *model.Pod) int64 {
	if p.Started.IsZero() {
		return notStarted
	}
	return p.Started.Unix()
}
