package agent

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// RepeatedTask calls a function when it is triggered and at intervals, one call at a time. It is safe for concurrent use.
type RepeatedTask struct {
	start func(f func())
	after func(d time.Duration, f func()) clock.Timer
	run   func() time.Duration

	mu                 sync.Mutex
	running, triggered bool
	timer              clock.Timer // of the next call; nil without one
}

// Never is the result of a RepeatedTask's function that is not called again before a trigger.
const Never = time.Duration(-1)

// NewRepeatedTask returns a task that waits for a trigger. start calls a function concurrently. after calls it after a
// time. run is the task; it returns the time until the next call.
func NewRepeatedTask(start func(f func()), after func(d time.Duration, f func()) clock.Timer, run func() time.Duration) *RepeatedTask {
	return &RepeatedTask{start: start, after: after, run: run}
}

// Trigger calls the function at once, or again after the current call. It does not block, and may be called with locks
// held that the function acquires.
func (t *RepeatedTask) Trigger() {
	t.mu.Lock()
	starts := !t.running
	t.triggered = !starts
	t.running = true
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	t.mu.Unlock()
	if starts {
		t.start(t.runOnce)
	}
}

// Schedule triggers the task after d. It must be called before the first trigger.
func (t *RepeatedTask) Schedule(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = t.after(d, t.Trigger)
}

func (t *RepeatedTask) runOnce() {
	next := t.run()
	t.mu.Lock()
	again := t.triggered
	t.triggered, t.running = false, again
	if !again && next != Never {
		t.timer = t.after(next, t.Trigger)
	}
	t.mu.Unlock()
	if again {
		t.start(t.runOnce)
	}
}
