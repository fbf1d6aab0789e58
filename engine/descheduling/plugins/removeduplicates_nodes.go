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
	e := &eligibleNodes{nodes: nodes, counts: map[*model.PodSpec]int{}}
	for i, n := range nodes {
		if descheduling.ToleratesTaints(&descheduling.Pod{Pod: &model.Pod{Spec: &model.PodSpec{}}}, n, descheduling.IsHardTaint) {
			e.untainted++
		} else {
			e.tainted = append(e.tainted, i)
		}
	}
	return e
}

// countForGroup returns the number of nodes that any of the duplicates can run on. Pod specs
// that only one node matches do not count.
func (e *eligibleNodes) countForGroup(g *duplicateGroup) int {
	var specs []*model.PodSpec
	samples := map[*model.PodSpec]*descheduling.Pod{}
	for _, d := range g.nodes {
		for _, p := range d.duplicates {
			if samples[p.Spec] == nil {
				samples[p.Spec] = p
				specs = append(specs, p.Spec)
			}
		}
	}
	if len(specs) == 1 {
		return e.countForPod(samples[specs[0]])
	}
	union := make([]bool, len(e.nodes))
	total := 0
	for _, spec := range specs {
		if e.countForPod(samples[spec]) < 2 {
			continue
		}
		for i, n := range e.nodes {
			if !union[i] && canRunOn(samples[spec], n) {
				union[i] = true
				total++
			}
		}
	}
	return total
}

// countForPod returns the number of nodes that p can run on, or 0 if there is only one.
func (e *eligibleNodes) countForPod(p *descheduling.Pod) int {
	if n, ok := e.counts[p.Spec]; ok {
		return n
	}
	n := 0
	if s := &p.Spec.NodeSelector; len(s.Labels) == 0 && !s.HasRequired {
		n = e.untainted
		for _, i := range e.tainted {
			if descheduling.ToleratesTaints(p, e.nodes[i], descheduling.IsHardTaint) {
				n++
			}
		}
	} else {
		for _, node := range e.nodes {
			if canRunOn(p, node) {
				n++
			}
		}
	}
	if n < 2 {
		n = 0
	}
	e.counts[p.Spec] = n
	return n
}

func canRunOn(p *descheduling.Pod, n *descheduling.Node) bool {
	return descheduling.ToleratesTaints(p, n, descheduling.IsHardTaint) && descheduling.MatchesNodeAffinity(p, n)
}
