package sim

import (
	"fmt"
	"iter"
	"net/http"

	"github.com/berthproject/berth/engine/rebalance"
)

// asked is a candidate whose eviction is asked for.
type asked struct {
	candidate *rebalance.Candidate
	strategy  string
}

// compatible evicts what the strategies propose, each asked for when the one before was answered. The round is a
// coroutine, which waits while the API answers and the rest of the world goes on; what it sees is the
// cluster of its beginning, without the pods that it evicted.
func (d *descheduler) compatible() {
	m := &evictingMover{}
	snapshot := d.look().snapshot
	next, stop := iter.Pull(func(yield func(asked) bool) {
		m.yield = yield
		rebalance.RunPolicy(snapshot, &d.o.Policy, m)
	})
	d.stop = stop
	evicted, refused := 0, 0
	var ask func()
	ask = func() {
		a, ok := next()
		if !ok {
			d.stop = nil
			d.steps.poke(0)
			if evicted+refused > 0 {
				d.w.tell(d.name, "round", "", fmt.Sprintf("%d pods are evicted, %d were refused", evicted, refused))
			}
			return
		}
		d.evict(a.candidate.Pod.Pod, a.strategy, func(got Answer) {
			if m.granted = got.Code == http.StatusCreated; m.granted {
				evicted++
			} else {
				refused++
			}
			ask()
		})
	}
	ask()
}

// evictingMover has candidates evicted by who pulls them out of yield.
type evictingMover struct {
	yield   func(asked) bool
	over    bool
	granted bool // the last one was
}

// Places is rebalance.Mover's: it is the scheduler that finds places.
func (*evictingMover) Places() bool { return false }

// Move is rebalance.Mover's.
func (m *evictingMover) Move(strategy, _ string, c *rebalance.Candidate) (*rebalance.Node, bool) {
	if m.over || !m.yield(asked{c, strategy}) {
		m.over = true
		return nil, false
	}
	return nil, m.granted
}

// Save is rebalance.Mover's: what is evicted is.
func (*evictingMover) Save() (func(), bool) { return nil, false }
