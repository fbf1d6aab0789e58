package descheduling

import (
	"fmt"
	"slices"
)

// EvictMatching proposes the pods of each node that match selects. As in the Kubernetes
// descheduler, all pods of a node are selected before any of them is evicted.
func (r *Round) EvictMatching(match func(*Pod, *Node) bool, candidate func(*Pod, *Node) *Candidate) {
	r.EvictMatchingBy(nil, match, candidate)
}

// EvictMatchingBy is EvictMatching with the pods of each node sorted by order. If order is
// nil, they are sorted by name.
func (r *Round) EvictMatchingBy(order func(a, b *Pod) int, match func(*Pod, *Node) bool, candidate func(*Pod, *Node) *Candidate) {
	for _, n := range r.nodes {
		var list []*Pod
		for _, p := range r.AllPodsOn(n) {
			if match(p, n) && r.Evictable(p) && r.PreEvictionFilter(p) {
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

// evictAll proposes pods of a node in order until a limit is reached, and returns the last
// outcome.
func (r *Round) evictAll(list []*Pod, n *Node, candidate func(*Pod, *Node) *Candidate) (last Outcome) {
	for _, p := range list {
		if last = r.Evict(candidate(p, n)); last == NodeLimit || last == TotalLimit {
			return last
		}
	}
	return last
}

// NewCandidate returns a candidate without a gain: any other node is an improvement. A
// finished pod is a cleanup.
func NewCandidate(p *Pod, n *Node, format string, args ...any) *Candidate {
	return &Candidate{Pod: p, Node: n, Cleanup: p.Finished(), Reason: func() string { return fmt.Sprintf(format, args...) }}
}
