package plugins

import (
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// eligibleNodes counts the nodes that pods can run on by taints, node selector and required
// affinity.
type eligibleNodes struct {
	nodes     []*descheduling.Node
	untainted int   // nodes without hard taints
	tainted   []int // indexes of the other nodes
	counts    map[*model.PodSpec]int
}

func newEligibleNodes(nodes []*descheduling.Node) *eligibleNodes {
	r := &eligibleNodes{nodes: nodes, counts: map[*model.PodSpec]int{}}
	for i, n := range nodes {
		if descheduling.ToleratesTaints(&descheduling.Pod{Pod: &model.Pod{Spec: &model.PodSpec{}}}, n, descheduling.IsHardTaint) {
			r.untainted++
		} else {
			r.tainted = append(r.tainted, i)
		}
	}
	return r
}

// countForGroup returns the number of nodes that any of the duplicates can run on. Pod specs
// that only one node matches do not count.
func (r *eligibleNodes) countForGroup(c *duplicateGroup) int {
	var specs []*model.PodSpec
	samples := map[*model.PodSpec]*descheduling.Pod{}
	for _, d := range c.nodes {
		for _, p := range d.duplicates {
			if samples[p.Spec] == nil {
				samples[p.Spec] = p
				specs = append(specs, p.Spec)
			}
		}
	}
	if len(specs) == 1 {
		return r.countForPod(samples[specs[0]])
	}
	union := make([]bool, len(r.nodes))
	total := 0
	for _, spec := range specs {
		if r.countForPod(samples[spec]) < 2 {
			continue
		}
		for i, n := range r.nodes {
			if !union[i] && canRunOn(samples[spec], n) {
				union[i] = true
				total++
			}
		}
	}
	return total
}

// countForPod returns the number of nodes that p can run on, or 0 if there is only one.
func (r *eligibleNodes) countForPod(p *descheduling.Pod) int {
	if n, ok := r.counts[p.Spec]; ok {
		return n
	}
	n := 0
	if s := &p.Spec.NodeSelector; len(s.Labels) == 0 && !s.HasRequired {
		n = r.untainted
		for _, i := range r.tainted {
			if descheduling.ToleratesTaints(p, r.nodes[i], descheduling.IsHardTaint) {
				n++
			}
		}
	} else {
		for _, node := range r.nodes {
			if canRunOn(p, node) {
				n++
			}
		}
	}
	if n < 2 {
		n = 0
	}
	r.counts[p.Spec] = n
	return n
}

func canRunOn(p *descheduling.Pod, n *descheduling.Node) bool {
	return descheduling.ToleratesTaints(p, n, descheduling.IsHardTaint) && descheduling.MatchesNodeAffinity(p, n)
}
