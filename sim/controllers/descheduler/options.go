package descheduler

import (
	"time"

	"github.com/berthproject/berth/engine/descheduling"
)

// Options configure the descheduler.
type Options struct {
	Policy descheduling.Policy
	// Compatible evicts the candidates one by one, as the Kubernetes descheduler does; otherwise
	// moves are planned and executed.
	Compatible bool
	// WithoutHolds plans without Holds because the scheduler ignores them (IgnoreHolds in scheduler.Options).
	WithoutHolds bool
	// SchedulersWithoutHolds are the names of the schedulers that ignore Holds if others honor them. It has no effect
	// with WithoutHolds, which applies to all schedulers.
	SchedulersWithoutHolds map[string]bool
	// InitialDelay is the time before the first run, Interval that between runs.
	InitialDelay, Interval time.Duration
}
