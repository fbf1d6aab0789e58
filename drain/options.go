package drain

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Options correspond to the flags of kubectl drain.
type Options struct {
	// IgnoreDaemonSets skips DaemonSet pods; otherwise they are an error.
	IgnoreDaemonSets bool
	// DeleteEmptyDirData allows the eviction of pods with an emptyDir, whose data is lost;
	// otherwise they are an error.
	DeleteEmptyDirData bool
	// Force allows the eviction of pods without a controller; otherwise they are an error.
	Force bool
	// Selector skips pods that it does not match; nil matches all.
	Selector *model.Selector
	// Surge temporarily adds a replica to owners whose budget allows no disruption.
	Surge bool
}

// Timeouts bound how long the machine waits.
type Timeouts struct {
	EvictionObserved time.Duration // until a granted eviction is observed
	Replacement      time.Duration // from the end of a pod until its owner creates another
	SchedulerIdle    time.Duration // for the scheduler to place pods that seem to fit, since the last change
	Budgets          time.Duration // until the statuses of budgets are up to date
	Ready            time.Duration // until a scheduled replacement is Ready
}

// DefaultTimeouts returns timeouts for clusters whose pods become Ready within five minutes.
func DefaultTimeouts() Timeouts {
	return Timeouts{EvictionObserved: 30 * time.Second, Replacement: 30 * time.Second, SchedulerIdle: 30 * time.Second, Budgets: 10 * time.Second, Ready: 5 * time.Minute}
}
