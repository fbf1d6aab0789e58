package sim

import (
	"fmt"
	"iter"
	"net/http"

	"github.com/berthproject/berth/engine/descheduling"
)

// proposal is a candidate whose eviction is asked for.
type proposal struct {
	candidate *descheduling.Candidate
	strategy  string
}

// runCompatible evicts what the strategies propose, each asked for when the one before was answered. The round is a
// coroutine, which waits while the API answers and the rest of the cluster goes on; what it sees is the
// cluster of its beginning, without the pods that it evicted.
func (d *descheduler) runCompatible() {
	m := &evictingMover{}
	snapshot := d.clusterView().snapshot
	next, stop := iter.Pull(func(yield func(proposal) bool) {
		m.yield = yield
		descheduling.RunPolicy(snapshot, &d.o.Policy, m)
	})
	d.stop = stop
	evicted, refused := 0, 0
	var ask func()
	ask = func() {
		a, ok := next()
		if !ok {
			d.stop = nil
			d.steps.schedule(0)
			if evicted+refused > 0 {
				d.w.log(d.name, "round", "", fmt.Sprintf("%d pods are evicted, %d were refused", evicted, refused))
			}
			return
		}
		d.evict(a.candidate.Pod.Pod, a.strategy, func(got EvictionResponse) {
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
	yield   func(proposal) bool
	stopped bool
	granted bool // the last one was
}

// ChoosesNodes implements descheduling.Mover: it is the scheduler that finds places.
func (*evictingMover) ChoosesNodes() bool { return false }

// Move implements descheduling.Mover.
func (m *evictingMover) Move(strategy, _ string, c *descheduling.Candidate) (*descheduling.Node, bool) {
	if m.stopped || !m.yield(proposal{c, strategy}) {
		m.stopped = true
		return nil, false
	}
	return nil, m.granted
}

// Checkpoint implements descheduling.Mover: what is evicted is.
func (*evictingMover) Checkpoint() (func(), bool) { return nil, false }
