package budget

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// reasonKubelet is the kubelet's reason for terminating a pod. Such a condition does not become
// stale.
const reasonKubelet = "TerminationByKubelet"

// StaleConditionAfter returns how long a pod that is not deleted may keep its DisruptionTarget
// condition, which is True since the given time. 0 and true mean that the condition is stale. It
// returns false if the pod has no such condition or it does not become stale.
func StaleConditionAfter(p *model.Pod, since, now time.Time) (remaining time.Duration, ends bool) {
	if p.DisruptionReason == "" || p.DisruptionReason == reasonKubelet || p.Deleting || p.Finished() {
		return 0, false
	}
	return max(since.Add(EntryAge).Sub(now), 0), true
}
