package rebalance

import (
	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

// lazy is what only some policies ask for: made when the first asks.
type lazy struct {
	replicas map[string]int // pods by uid of each of their owners
	covered  map[*Pod]bool  // by a disruption budget
	// best are the largest weights of preferred node affinity that any node of the round has.
	best map[*model.PodSpec]int64
}

// left forgets a pod that nothing is known to replace; by is 1, or -1 if it did not leave after all.
func (l *lazy) left(p *Pod, by int) {
	if l.replicas == nil {
		return
	}
	for i := range p.Facts.Owners {
		l.replicas[p.Facts.Owners[i].UID] -= by
	}
}

// replicasOf is how many pods an owner has by now, those of other nodes and without a node included. A pod that moves
// is still one.
func (r *Round) replicasOf(uid string) int {
	if r.facts.replicas == nil {
		r.facts.replicas = map[string]int{}
		count := func(p *Pod) {
			for i := range p.Facts.Owners {
				r.facts.replicas[p.Facts.Owners[i].UID]++
			}
		}
		for _, n := range r.Snapshot.Nodes {
			for _, p := range r.view.places[n].all {
				count(p)
			}
		}
		for _, p := range r.Snapshot.Unbound {
			count(p)
		}
	}
	return r.facts.replicas[uid]
}

// budgeted says whether a disruption budget covers a pod.
func (r *Round) budgeted(p *Pod) bool {
	if r.facts.covered == nil {
		r.facts.covered = map[*Pod]bool{}
	}
	covered, known := r.facts.covered[p]
	if !known {
		for _, b := range r.Snapshot.Budgets {
			if covered = budget.Ledger.Covers(b, p.Pod); covered {
				break
			}
		}
		r.facts.covered[p] = covered
	}
	return covered
}
