package descheduling

import (
	"fmt"
	"slices"
)

// EvictMatching proposes the pods of each node that a strategy wants to leave. Which those are is judged for a whole
// node before any of its pods goes, as the Kubernetes descheduler does.
func (r *Round) EvictMatching(wanted func(*Pod, *Node) bool, candidate func(*Pod, *Node) *Candidate) {
	r.EvictMatchingBy(nil, wanted, candidate)
}

// EvictMatchingBy is sweep with the pods of each node in an order; nil: by name.
func (r *Round) EvictMatchingBy(order func(a, b *Pod) int, wanted func(*Pod, *Node) bool, candidate func(*Pod, *Node) *Candidate) {
	for _, n := range r.nodes {
		var list []*Pod
		for _, p := range r.AllPodsOn(n) {
			if wanted(p, n) && r.Evictable(p) && r.PreEvictionFilter(p) {
				list = append(list, p)
			}
		}
		if order != nil {
			slices.SortStableFunc(list, order)
		}
		if r.evictAll(list, n, candidate) == TotalLimit {
			return
		}
	}
}

// evictAll proposes pods of a node, one after another, until a limit ends it, and returns the last outcome.
func (r *Round) evictAll(list []*Pod, n *Node, candidate func(*Pod, *Node) *Candidate) (last Outcome) {
	for _, p := range list {
		if last = r.Evict(candidate(p, n)); last == NodeLimit || last == TotalLimit {
			return last
		}
	}
	return last
}

// NewCandidate makes a candidate of a pod whose place is no matter, only that it goes. One that has finished is cleaned up.
func NewCandidate(p *Pod, n *Node, format string, args ...any) *Candidate {
	return &Candidate{Pod: p, Node: n, Cleanup: p.Finished(), Reason: func() string { return fmt.Sprintf(format, args...) }}
}
