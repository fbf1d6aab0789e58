package executor

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/scheduling"
)

// recordMissedWakeup records the event that a pod fits although no event requeued it.
func (x *Executor) recordMissedWakeup(e scheduling.MissedWakeup) scheduling.Outcome {
	x.o.Events.Record(e.Pod, corev1.EventTypeWarning, "MissedWakeUp", "Scheduling", missedWakeupNote(e))
	return scheduling.Outcome{}
}

func missedWakeupNote(e scheduling.MissedWakeup) string {
	var names []string
	for p := decision.NoPlugin + 1; p < decision.NumPlugins; p++ {
		if e.RejectedBy.Has(p) {
			names = append(names, p.String())
		}
	}
	return fmt.Sprintf("The pod fits on node %s, but no event since its rejection by %s triggered a retry. It is retried now. This is a bug in the scheduler: please report it.",
		e.Node, strings.Join(names, ", "))
}
