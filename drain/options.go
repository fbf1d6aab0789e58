package drain

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Options are what kubectl drain's flags of the same names say.
type Options struct {
	// IgnoreDaemonSets leaves pods of DaemonSets where they are; without it there must be none.
	IgnoreDaemonSets bool
	// DeleteEmptyDirData lets pods with an emptyDir go, which is lost; without it there must be none.
	DeleteEmptyDirData bool
	// Force lets pods go that nobody replaces; without it there must be none.
	Force bool
	// Selector leaves pods alone that it does not match; nil: none.
	Selector *model.Selector
	// Surge has the owner of a pod whose budget allows nothing run one more for a while.
	Surge bool
}

// Timeouts is how long the world may take before it is not waited for any more.
type Timeouts struct {
	EvictionObserved time.Duration // until an eviction that was granted shows
	Replacement      time.Duration // after a pod is gone, until its owner makes another
	SchedulerIdle    time.Duration // until the scheduler has placed what would fit, after the last news of it
	Budgets          time.Duration // until the status of budgets says what can be counted
	Ready            time.Duration // until a replacement that has a node is Ready
}

// DefaultTimeouts suits clusters whose pods are Ready within five minutes.
func DefaultTimeouts() Timeouts {
	return Timeouts{EvictionObserved: 30 * time.Second, Replacement: 30 * time.Second, SchedulerIdle: 30 * time.Second, Budgets: 10 * time.Second, Ready: 5 * time.Minute}
}
