package workload

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/workload"
)

// BackOffReason is the reason of the event that pods are not made for a while.
const BackOffReason = "BackOff"

// NotBefore says until when an owner makes no pod, and why: zero for at once. node is where
// its template (or a DaemonSet) puts the pod; "" leaves that to a scheduler, which honours Holds itself. deaths are
// those of its pods that it knows of.
//
// A Hold counts instead of the deaths that led to it, and when it is lifted they are forgiven: it ends
// with its cause, which may be sooner.
func (a *AvoidHolds) NotBefore(now time.Time, owner types.UID, node string, deaths []workload.PodFailure) (until time.Time, why string) {
	if node != "" {
		if until, cause := a.HeldUntil(owner, node, now); !until.IsZero() {
			return until, fmt.Sprintf("Making no pod on node %s until %s: it is held off after %s", node, formatTime(until), cause)
		}
	}
	counted := make([]workload.PodFailure, 0, len(deaths))
	for _, d := range deaths {
		if !d.FailedAt.Before(a.LiftedAt(owner, d.Node).Truncate(time.Second)) { // the API tells of deaths in whole seconds
			counted = append(counted, d)
		}
	}
	until, last := workload.BackoffUntil(counted, node)
	if !until.After(now) {
		return time.Time{}, ""
	}
	return until, fmt.Sprintf("Making no pod until %s: the last ones on node %s ended at once with %s", formatTime(until), last.Node, last.Cause)
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
