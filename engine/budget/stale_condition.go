package budget

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// reasonKubelet is the reason that a node's agent gives for stopping a pod. That may take
// any time, and whoever asked for it is sure of it.
const reasonKubelet = "TerminationByKubelet"

// StaleConditionAfter says for how long yet a pod may carry its DisruptionTarget condition, true since
// then, without being deleted: 0 and true when it is time to take the condition back. It is false
// of pods that carry none, or for which it does not end.
func StaleConditionAfter(p *model.Pod, since, now time.Time) (left time.Duration, ends bool) {
	if p.DisruptionReason == "" || p.DisruptionReason == reasonKubelet || p.Deleting || p.Finished() {
		return 0, false
	}
	return max(since.Add(EntryAge).Sub(now), 0), true
}
