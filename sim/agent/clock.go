package agent

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/berthproject/berth/sim"
)

// worldClock is the clock of the virtual time. run calls the functions of its timers. The methods of the embedded Clock,
// which is nil, are not supported.
type worldClock struct {
	clock.Clock
	w   *sim.World
	run func(f func())
}

// Now returns the virtual time.
func (c worldClock) Now() time.Time { return c.w.Now() }

// Since returns the virtual time since t.
func (c worldClock) Since(t time.Time) time.Duration { return c.w.Now().Sub(t) }

// AfterFunc implements clock.WithDelayedExecution.
func (c worldClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &timer{}
	c.w.After(d, func() {
		if !t.stopped {
			c.run(f)
		}
	})
	return t
}

// timer is a timer of which only Stop is supported. The embedded Timer is nil.
type timer struct {
	clock.Timer
	stopped bool
}

// Stop implements clock.Timer, but always returns true. The agent does not use the result.
func (t *timer) Stop() bool {
	t.stopped = true
	return true
}
