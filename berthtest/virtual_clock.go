package berthtest

import (
	"context"
	"sync"
	"time"

	"github.com/berthproject/berth/sim/cluster"
)

// tick is the resolution of the virtual time of tests. Between two ticks the clock advances in nanoseconds, to order
// what happens within one tick. The actions of the test come first, then the events of the cluster, each with its
// effects.
const tick = time.Microsecond

// maxConditionInterval is the longest time between two checks of a condition. Conditions are also checked after
// each change in the API.
const maxConditionInterval = time.Second

// virtualClock executes the events of a simulated cluster at their times on the clock of a bubble.
type virtualClock struct {
	ended   chan struct{}
	stopped chan struct{} // closed when run has returned; nil before the start
	added   chan struct{} // has an element after do

	mu      sync.Mutex // of the fields below
	world   *cluster.Cluster
	changed chan struct{} // closed at the next change in the API
}

func newVirtualClock(w *cluster.Cluster) *virtualClock {
	return &virtualClock{ended: make(chan struct{}), added: make(chan struct{}, 1), world: w, changed: make(chan struct{})}
}

// do calls f at the current time, while no event is executed.
func (v *virtualClock) do(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.world.API().Revision()
	v.world.MoveTo(time.Now().Truncate(tick))
	f()
	v.announce(before)
	select {
	case v.added <- struct{}{}:
	default:
	}
}

// announce wakes callers of wait if the API has changed since the revision before. The caller holds
// v.mu.
func (v *virtualClock) announce(before uint64) (changed bool) {
	if v.world.API().Revision() == before {
		return false
	}
	close(v.changed)
	v.changed = make(chan struct{})
	return true
}

// start executes events until stop.
func (v *virtualClock) start() {
	v.stopped = make(chan struct{})
	go func() {
		defer close(v.stopped)
		v.run()
	}()
}

// stop ends the clock and all requests.
func (v *virtualClock) stop() {
	close(v.ended)
	if v.stopped != nil {
		<-v.stopped
	}
}

// run executes each event one nanosecond after its time. After a change in the API it sleeps for another nanosecond,
// which lets every other goroutine of the bubble react first.
func (v *virtualClock) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, changed := v.next()
		switch {
		case changed:
			time.Sleep(time.Nanosecond)
			wait = 0
		case wait == 0:
		default:
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-v.added:
			}
		}
		select {
		case <-v.ended:
			return
		default:
		}
	}
}

// next executes the next event if it is due. Otherwise it returns the time until then.
func (v *virtualClock) next() (wait time.Duration, changed bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, ok := v.world.NextAt()
	if !ok || v.world.Violation() != nil {
		return maxConditionInterval, false
	}
	if wait = time.Until(at) + 1; wait > 0 {
		return wait, false
	}
	before := v.world.API().Revision()
	v.world.Next(at)
	return 0, v.announce(before)
}

// sleep blocks for d, and then until the next full tick.
func (v *virtualClock) sleep(d time.Duration) {
	now := time.Now()
	end := now.Add(d)
	if rest := end.Sub(end.Truncate(tick)); rest > 0 {
		end = end.Add(tick - rest)
	}
	time.Sleep(end.Sub(now))
}

// wait calls condition until it returns nil, and returns the last error when ctx ends.
func (v *virtualClock) wait(ctx context.Context, condition func(ctx context.Context) error) error {
	for {
		v.mu.Lock()
		changed := v.changed
		v.mu.Unlock()
		err := condition(ctx)
		if err == nil {
			v.sleep(0)
			return nil
		}
		timer := time.NewTimer(maxConditionInterval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-changed:
			timer.Stop()
		case <-timer.C:
		}
	}
}
