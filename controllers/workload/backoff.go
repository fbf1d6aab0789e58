package workload

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/workload"
)

// BackOffReason is the reason of the event about delayed pod creation.
const BackOffReason = "BackOff"

// NotBefore returns until when an owner must not create a pod, and the reason. The time is zero if the owner may
// create one now. node is the node that the template (or a DaemonSet) selects; "" leaves placement to a scheduler,
// which honors Holds. failures are the recorded failures of the owner's pods.
//
// A Hold replaces the failures that led to it. When the Hold ends early, NotBefore ignores them, since their cause has
// ended.
func (a *AvoidHolds) NotBefore(now time.Time, owner types.UID, node string, failures []workload.PodFailure) (until time.Time, reason string) {
	if a != nil && a.backoffDisabled {
		return time.Time{}, ""
	}
	if node != "" {
		if until, cause := a.AvoidUntil(owner, node, now); !until.IsZero() {
			return until, fmt.Sprintf("Creating no pod on node %s until %s: avoided after %s", node, formatTime(until), cause)
		}
	}
	counted := make([]workload.PodFailure, 0, len(failures))
	for _, f := range failures {
		if !f.FailedAt.Before(a.EndedEarlyAt(owner, f.Node).Truncate(time.Second)) { // the API stores whole seconds
			counted = append(counted, f)
		}
	}
	until, last := workload.BackoffUntil(counted, node)
	if !until.After(now) {
		return time.Time{}, ""
	}
	return until, fmt.Sprintf("Creating no pod until %s: the last pods on node %s failed immediately with %s", formatTime(until), last.Node, last.Cause)
}

// DisableBackoff makes NotBefore always return the zero time. Controllers then replace pods at once, as upstream. Call
// it before NotBefore.
func (a *AvoidHolds) DisableBackoff() { a.backoffDisabled = true }

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
