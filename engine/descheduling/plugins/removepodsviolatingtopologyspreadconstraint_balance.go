package plugins

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/order"
)

// evictionList are the pods to evict, each once, in order of selection.
type evictionList struct {
	round       *descheduling.Round
	constraints *constraintIndex // of the current namespace
	seen        map[*descheduling.Pod]bool
	candidates  []*descheduling.Candidate
}

// add adds a candidate unless its pod is in the list.
func (l *evictionList) add(c *descheduling.Candidate) {
	if !l.seen[c.Pod] {
		l.seen[c.Pod] = true
		l.candidates = append(l.candidates, c)
	}
}

// evict proposes the candidates in order until the total limit is reached.
func (l *evictionList) evict() {
	exhausted := map[*descheduling.Node]bool{}
	for _, candidate := range l.candidates {
		if exhausted[candidate.Node] || !l.round.Evictable(candidate.Pod) || !l.round.PreEvictionFilter(candidate.Pod) {
			continue
		}
		switch l.round.Evict(candidate) {
		case descheduling.NodeLimit:
			exhausted[candidate.Node] = true
		case descheduling.TotalLimit:
			return
		}
	}
}

// balance selects the pods to evict from large domains, as the Kubernetes descheduler does. Pods
// move from the largest domain to the smallest, and neither domain crosses the average.
func (s *RemovePodsViolatingTopologySpreadConstraint) balance(r *descheduling.Round, c *spreadConstraint, evictions *evictionList) {
	sum := 0
	for _, d := range c.domains {
		slices.SortStableFunc(d.pods, compareForRetention)
		sum += len(d.pods)
	}
	sorted := slices.Clone(c.domains)
	slices.SortStableFunc(sorted, func(a, b *topologyDomain) int { return cmp.Compare(len(a.pods), len(b.pods)) })
	average := float64(sum) / float64(len(sorted))
	belowAverage := c.belowAverageNodes(sorted, average)
	remaining := make([]int, len(sorted)) // pods per domain after the moves selected so far
	queues := make([]evictionQueue, len(sorted))
	for i, d := range sorted {
		remaining[i], queues[i].pods = len(d.pods), d.pods
	}
	for i, j := 0, len(sorted)-1; i < j; {
		if float64(remaining[j]) <= average {
			j--
		}
		skew := remaining[j] - remaining[i]
		n := movablePods(remaining[i], remaining[j], average, int(c.MaxSkew))
		if skew <= int(c.MaxSkew) || n <= 0 {
			i++
			continue
		}
		// Pods that earlier moves are expected to add cannot be evicted.
		for evictable := min(remaining[j], len(sorted[j].pods)) - (remaining[j] - n); evictable > 0; evictable-- {
			p := queues[j].next(func(p *descheduling.Pod) bool { return r.FitsAnyOtherNode(p, belowAverage) }, !s.BalanceNodeFit)
			if p == nil {
				break
			}
			evictions.add(c.candidate(r, p, sorted[j], evictions.constraints))
		}
		remaining[j] -= n
		remaining[i] += n
	}
}

// evictionQueue holds the pods of a domain in eviction order.
type evictionQueue struct {
	pods  []*descheduling.Pod // untried; the last is next
	unfit []*descheduling.Pod // tried; they do not fit on any node
}

// next returns the next pod that fits, or nil. If none fits and includeUnfit is set, it returns
// one that does not fit.
func (q *evictionQueue) next(fits func(*descheduling.Pod) bool, includeUnfit bool) *descheduling.Pod {
	for len(q.pods) > 0 {
		p := q.pods[len(q.pods)-1]
		q.pods = q.pods[:len(q.pods)-1]
		if fits(p) {
			return p
		}
		q.unfit = append(q.unfit, p)
	}
	if !includeUnfit || len(q.unfit) == 0 {
		return nil
	}
	p := q.unfit[0]
	q.unfit = q.unfit[1:]
	return p
}

// movablePods returns the number of pods to move from a domain with many pods to one with few.
func movablePods(smaller, larger int, average float64, maxSkew int) int {
	above := math.Ceil(float64(larger) - average)
	below := math.Ceil(average - float64(smaller))
	half := math.Ceil(float64(larger-smaller-maxSkew) / 2)
	return int(min(above, below, half))
}

// belowAverageNodes returns the eligible nodes of the domains below the average, by domain.
func (c *spreadConstraint) belowAverageNodes(sorted []*topologyDomain, average float64) []*descheduling.Node {
	nodesByDomain := map[*topologyDomain][]*descheduling.Node{}
	for i, n := range c.nodes.nodes {
		if !c.isEligible(i) || c.keyDomains.byNode[i] < 0 {
			continue
		}
		d := c.domains[c.domainIndex[c.keyDomains.byNode[i]]]
		nodesByDomain[d] = append(nodesByDomain[d], n)
	}
	var out []*descheduling.Node
	for _, d := range sorted {
		if float64(len(d.pods)) < average {
			out = append(out, nodesByDomain[d]...)
		}
	}
	return out
}

// compareForRetention orders the pods of a domain as the Kubernetes descheduler does; those at
// the end are evicted first.
func compareForRetention(a, b *descheduling.Pod) int {
	return cmp.Or(
		order.TrueFirst(hasNodeConstraint(a), hasNodeConstraint(b)),
		order.TrueFirst(b.Details.HasPriority, a.Details.HasPriority),
		cmp.Compare(a.Spec.Priority, b.Spec.Priority))
}

// hasNodeConstraint reports whether p has a node selector or node affinity.
func hasNodeConstraint(p *descheduling.Pod) bool {
	s := &p.Spec.NodeSelector
	return len(s.Labels) > 0 || s.HasRequired || len(s.Preferred) > 0
}

// candidate returns a candidate for a pod of a domain. Its move must not worsen any of the
// constraints of the namespace.
func (c *spreadConstraint) candidate(r *descheduling.Round, p *descheduling.Pod, d *topologyDomain, constraints *constraintIndex) *descheduling.Candidate {
	from := r.NodeOf(p)
	return &descheduling.Candidate{Pod: p, Node: from,
		Reason: func() string {
			return fmt.Sprintf("%d pods in %s=%s, %d in the smallest domain; maxSkew %d",
				d.size, c.TopologyKey, d.value, c.smallestSize(), c.MaxSkew)
		},
		Gain: func(to *descheduling.Node) descheduling.Gain { return spreadGain(p, from, to, constraints) },
	}
}
