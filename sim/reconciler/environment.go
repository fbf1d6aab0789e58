package reconciler

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/sim"
)

// virtualClock is the virtual time. It has no timers: a controller waits by requeueing.
type virtualClock struct {
	clock.WithTicker
	w *sim.World
}

// Now returns the virtual time.
func (c virtualClock) Now() time.Time { return c.w.Now() }

// Since returns the virtual time since t.
func (c virtualClock) Since(t time.Time) time.Duration { return c.w.Now().Sub(t) }

// Events is a recorder that drops events. It implements record.EventRecorder.
type Events struct{}

// Event implements record.EventRecorder.
func (Events) Event(runtime.Object, string, string, string) {}

// Eventf implements record.EventRecorder.
func (Events) Eventf(runtime.Object, string, string, string, ...any) {}

// AnnotatedEventf implements record.EventRecorder.
func (Events) AnnotatedEventf(runtime.Object, map[string]string, string, string, string, ...any) {}
