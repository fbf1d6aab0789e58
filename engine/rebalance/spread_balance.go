package rebalance

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// choice are the pods that are to go, each once, in the order in which they were chosen.
type choice struct {
	round  *Round
	groups *spreadGroups // of the namespace that is looked at
	has    map[*Pod]bool
	all    []*Candidate
}

func (c *choice) add(of *Candidate) {
	if !c.has[of.Pod] {
		c.has[of.Pod] = true
		c.all = append(c.all, of)
	}
}

// evict proposes them.
func (c *choice) evict() {
	done := map[*Node]bool{}
	for _, one := range c.all {
		if done[one.Node] || !c.round.Evictable(one.Pod) || !c.round.Fits(one.Pod) {
			continue
		}
		switch c.round.Evict(one) {
		case NodeLimit:
			done[one.Node] = true
		case TotalLimit:
			return
		}
	}
}

// balance chooses which pods leave crowded domains, as the Kubernetes descheduler does: from the largest domain to the
// smallest go as many as bring them together, without taking the one below the average or the other above it.
func (s *RemovePodsViolatingTopologySpreadConstraint) balance(r *Round, g *spreadGroup, chosen *choice) {
	sum := 0
	for _, d := range g.crowds {
		slices.SortStableFunc(d.pods, keepFirst)
		sum += len(d.pods)
	}
	sorted := slices.Clone(g.crowds)
	slices.SortStableFunc(sorted, func(a, b *crowd) int { return cmp.Compare(len(a.pods), len(b.pods)) })
	average := float64(sum) / float64(len(sorted))
	roomy := g.roomy(sorted, average)
	left := make([]int, len(sorted)) // pods in each domain by now, those that are to come included
	queues := make([]leaving, len(sorted))
	for i, d := range sorted {
		left[i], queues[i].pods = len(d.pods), d.pods
	}
	for i, j := 0, len(sorted)-1; i < j; {
		if float64(left[j]) <= average {
			j--
		}
		skew := left[j] - left[i]
		n := movable(left[i], left[j], average, int(g.MaxSkew))
		if skew <= int(g.MaxSkew) || n <= 0 {
			i++
			continue
		}
		// A domain may give away what it was to get, but that is nobody in particular.
		for real := min(left[j], len(sorted[j].pods)) - (left[j] - n); real > 0; real-- {
			p := queues[j].next(func(p *Pod) bool { return r.FitsOther(p, roomy) }, !s.BalanceNodeFit)
			if p == nil {
				break
			}
			chosen.add(g.candidate(r, p, sorted[j], chosen.groups))
		}
		left[j] -= n
		left[i] += n
	}
}

// leaving gives the pods of a domain in the order in which they go.
type leaving struct {
	pods  []*Pod // not looked at by now; the last is next
	unfit []*Pod // looked at, and they fit nowhere
}

// next is the next pod that fits, and if there is none and all may go, one that does not; nil: none is left.
func (l *leaving) next(fits func(*Pod) bool, all bool) *Pod {
	for len(l.pods) > 0 {
		p := l.pods[len(l.pods)-1]
		l.pods = l.pods[:len(l.pods)-1]
		if fits(p) {
			return p
		}
		l.unfit = append(l.unfit, p)
	}
	if !all || len(l.unfit) == 0 {
		return nil
	}
	p := l.unfit[0]
	l.unfit = l.unfit[1:]
	return p
}

// movable is how many pods may go from a domain with many to one with few.
func movable(few, many int, average float64, maxSkew int) int {
	above := math.Ceil(float64(many) - average)
	below := math.Ceil(average - float64(few))
	half := math.Ceil(float64(many-few-maxSkew) / 2)
	return int(min(above, below, half))
}

// roomy are the nodes that count and whose domain is below the average, domain after domain.
func (g *spreadGroup) roomy(sorted []*crowd, average float64) []*Node {
	by := map[*crowd][]*Node{}
	for i, n := range g.sites.nodes {
		if g.eligible != nil && !g.eligible[i] || g.key.of[i] < 0 {
			continue
		}
		d := g.crowds[g.at[g.key.of[i]]]
		by[d] = append(by[d], n)
	}
	var out []*Node
	for _, d := range sorted {
		if float64(len(d.pods)) < average {
			out = append(out, by[d]...)
		}
	}
	return out
}

// keepFirst orders the pods of a domain; those at the end go. Pods that choose their nodes stay rather than others,
// low priorities rather than high ones: so the Kubernetes descheduler does it.
func keepFirst(a, b *Pod) int {
	return cmp.Or(
		-compareBool(choosy(a), choosy(b)),
		compareBool(a.Facts.HasPriority, b.Facts.HasPriority),
		cmp.Compare(a.Spec.Priority, b.Spec.Priority))
}

// choosy says whether a pod has a node selector or node affinity.
func choosy(p *Pod) bool {
	s := &p.Spec.NodeSelector
	return len(s.Labels) > 0 || s.HasRequired || len(s.Preferred) > 0
}

// candidate makes one of a pod of a domain; groups are all constraints that its move must not make worse.
func (g *spreadGroup) candidate(r *Round, p *Pod, d *crowd, groups *spreadGroups) *Candidate {
	from := r.NodeOf(p)
	return &Candidate{Pod: p, Node: from,
		Reason: func() string {
			return fmt.Sprintf("%d pods in %s=%s, %d in the domain with fewest; maxSkew %d",
				d.size, g.TopologyKey, d.value, g.least(), g.MaxSkew)
		},
		Gain: func(to *Node) Gain { return unevenness(p, from, to, groups) },
	}
}
