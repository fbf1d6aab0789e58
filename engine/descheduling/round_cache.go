package descheduling

import "github.com/berthproject/berth/engine/budget"

// roundCache is what only some policies ask for: made when the first asks.
type roundCache struct {
	replicas  map[string]int // pods by uid of each of their owners
	hasBudget map[*Pod]bool  // by a disruption budget
}

// podLeft forgets a pod that nothing is known to replace; by is 1, or -1 if it did not leave after all.
func (l *roundCache) podLeft(p *Pod, by int) {
	if l.replicas == nil {
		return
	}
	for i := range p.Details.Owners {
		l.replicas[p.Details.Owners[i].UID] -= by
	}
}

// ownerReplicas is how many pods an owner has by now, those of other nodes and without a node included. A pod that moves
// is still one.
func (r *Round) ownerReplicas(uid string) int {
	if r.cache.replicas == nil {
		r.cache.replicas = map[string]int{}
		count := func(p *Pod) {
			for i := range p.Details.Owners {
				r.cache.replicas[p.Details.Owners[i].UID]++
			}
		}
		for _, n := range r.Snapshot.Nodes {
			for _, p := range r.nodePods.contents[n].all {
				count(p)
			}
		}
		for _, p := range r.Snapshot.Unbound {
			count(p)
		}
	}
	return r.cache.replicas[uid]
}

// hasBudget says whether a disruption budget covers a pod.
func (r *Round) hasBudget(p *Pod) bool {
	if r.cache.hasBudget == nil {
		r.cache.hasBudget = map[*Pod]bool{}
	}
	covered, known := r.cache.hasBudget[p]
	if !known {
		for _, b := range r.Snapshot.Budgets {
			if covered = budget.Ledger.Covers(b, p.Pod); covered {
				break
			}
		}
		r.cache.hasBudget[p] = covered
	}
	return covered
}
