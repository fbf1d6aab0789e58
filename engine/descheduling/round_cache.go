package descheduling

import "github.com/berthproject/berth/engine/budget"

// roundCache holds facts that only some policies need, computed on demand.
type roundCache struct {
	replicas  map[string]int // pods by UID of each owner
	hasBudget map[*Pod]bool  // covered by a disruption budget
}

// uncountReplica removes a pod without a known replacement from the counts; by is 1, or -1 to
// undo that.
func (c *roundCache) uncountReplica(p *Pod, by int) {
	if c.replicas == nil {
		return
	}
	for i := range p.Details.Owners {
		c.replicas[p.Details.Owners[i].UID] -= by
	}
}

// ownerReplicas returns the number of pods of an owner, including those on other nodes and
// unscheduled ones. A moved pod counts if its new node is known.
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

// hasBudget reports whether a disruption budget covers p.
func (r *Round) hasBudget(p *Pod) bool {
	if r.cache.hasBudget == nil {
		r.cache.hasBudget = map[*Pod]bool{}
	}
	covered, ok := r.cache.hasBudget[p]
	if !ok {
		for _, b := range r.Snapshot.Budgets {
			if covered = budget.Ledger.Covers(b, p.Pod); covered {
				break
			}
		}
		r.cache.hasBudget[p] = covered
	}
	return covered
}
