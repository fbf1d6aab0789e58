package reconciler

import (
	"context"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/internal/contextlock"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/coroutine"
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

// NewEnvironment returns the environment of code that runs in coroutines of a group.
func NewEnvironment(w *sim.World, group *coroutine.Group, nameSuffix func() string) runner.Environment {
	return runner.Environment{
		WithTicker: virtualClock{w: w}, NameSuffix: nameSuffix, ForEach: group.ForEach, WithTimeout: withTimeout(w),
		Pause: func(ctx context.Context, d time.Duration) {
			if deadline, ok := ctx.Deadline(); ok {
				d = min(d, deadline.Sub(w.Now()))
			}
			group.Wait(func(resume func()) { w.After(d, resume) })
		},
		NewLock: func() contextlock.Lock { return &lock{w: w, group: group} },
	}
}

// lock is a lock of coroutines, which get it in the order of their calls.
type lock struct {
	w       *sim.World
	group   *coroutine.Group
	held    bool
	waiting []*waiter
}

// waiter is a coroutine that waits for a lock.
type waiter struct{ resume func() }

// Lock implements contextlock.Lock.
func (l *lock) Lock(ctx context.Context) (err error) {
	if !l.held {
		l.held = true
		return nil
	}
	l.group.Wait(func(resume func()) {
		waiting := &waiter{resume}
		l.waiting = append(l.waiting, waiting)
		if deadline, ok := ctx.Deadline(); ok {
			l.w.AtTime(deadline, func() {
				if i := slices.Index(l.waiting, waiting); i >= 0 {
					l.waiting = slices.Delete(l.waiting, i, i+1)
					err = context.DeadlineExceeded
					resume()
				}
			})
		}
	})
	return err
}

// Unlock implements contextlock.Lock.
func (l *lock) Unlock() {
	if len(l.waiting) == 0 {
		l.held = false
		return
	}
	next := l.waiting[0]
	l.waiting = l.waiting[1:]
	l.w.After(0, next.resume)
}

// timeoutContext is a context with a deadline in virtual time. Requests (sim/kubeclient) and waits for locks end at the
// deadline. Done is not closed then: nothing in a coroutine receives from a channel.
type timeoutContext struct {
	context.Context
	w        *sim.World
	deadline time.Time
}

// Deadline implements context.Context.
func (c timeoutContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Err implements context.Context.
func (c timeoutContext) Err() error {
	if !c.w.Now().Before(c.deadline) {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}

// withTimeout returns context.WithTimeout for virtual time.
func withTimeout(w *sim.World) func(context.Context, time.Duration) (context.Context, context.CancelFunc) {
	return func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
		deadline := w.Now().Add(d)
		if earlier, ok := ctx.Deadline(); ok && earlier.Before(deadline) {
			deadline = earlier
		}
		return timeoutContext{ctx, w, deadline}, func() {}
	}
}
