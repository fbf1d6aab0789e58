package descheduler

import (
	"fmt"
	"iter"
	"net/http"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/sim/displacement"
)

// proposal is a candidate to evict and the strategy that chose it.
type proposal struct {
	candidate *descheduling.Candidate
	strategy  string
}

// runCompatible evicts the proposed candidates one by one. The run is a coroutine that waits
// while the simulation continues. It uses the cluster as of its start, without the evicted pods.
func (d *Descheduler) runCompatible() {
	m := &evictingMover{}
	snapshot := d.clusterView().snapshot
	next, stop := iter.Pull(func(yield func(proposal) bool) {
		m.yield = yield
		descheduling.RunPolicy(snapshot, &d.o.Policy, m)
	})
	d.stop = stop
	evicted, refused := 0, 0
	var evict func()
	evict = func() {
		proposed, ok := next()
		if !ok {
			d.stop = nil
			d.steps.Schedule(0)
			if evicted+refused > 0 {
				d.w.Log(d.Name(), "round", "", fmt.Sprintf("%d pods were evicted, %d refused", evicted, refused))
			}
			return
		}
		d.evict(proposed.candidate.Pod.Pod, proposed.strategy, func(response displacement.EvictionResponse) {
			if m.granted = response.Code == http.StatusCreated; m.granted {
				evicted++
			} else {
				refused++
			}
			evict()
		})
	}
	evict()
}

// evictingMover yields candidates to the caller that evicts them.
type evictingMover struct {
	yield   func(proposal) bool
	stopped bool
	granted bool // the last candidate was evicted
}

// ChoosesNodes implements descheduling.Mover.
func (*evictingMover) ChoosesNodes() bool { return false }

// Move implements descheduling.Mover.
func (m *evictingMover) Move(strategy, _ string, c *descheduling.Candidate) (*descheduling.Node, bool) {
	if m.stopped || !m.yield(proposal{c, strategy}) {
		m.stopped = true
		return nil, false
	}
	return nil, m.granted
}

// Checkpoint implements descheduling.Mover: evictions cannot be undone.
func (*evictingMover) Checkpoint() (func(), bool) { return nil, false }
