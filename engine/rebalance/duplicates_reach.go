package rebalance

import "github.com/berthproject/berth/engine/model"

// reach counts the nodes that pods can run on as far as taints, node selector and required affinity go.
type reach struct {
	nodes   []*Node
	clean   int   // nodes without a taint that keeps pods off
	tainted []int // indices of the others
	known   map[*model.PodSpec]int
}

func newReach(nodes []*Node) *reach {
	r := &reach{nodes: nodes, known: map[*model.PodSpec]int{}}
	for i, n := range nodes {
		if Bears(&Pod{Pod: &model.Pod{Spec: &model.PodSpec{}}}, n, hard) {
			r.clean++
		} else {
			r.tainted = append(r.tainted, i)
		}
	}
	return r
}

// of is how many nodes any of the duplicates can run on. Those of a specification that only one node suits do
// not count: they have nowhere else to go.
func (r *reach) of(c *copies) int {
	var specs []*model.PodSpec
	samples := map[*model.PodSpec]*Pod{}
	for _, on := range c.on {
		for _, p := range on.more {
			if samples[p.Spec] == nil {
				samples[p.Spec] = p
				specs = append(specs, p.Spec)
			}
		}
	}
	if len(specs) == 1 {
		return r.count(samples[specs[0]])
	}
	union := make([]bool, len(r.nodes))
	total := 0
	for _, spec := range specs {
		if r.count(samples[spec]) < 2 {
			continue
		}
		for i, n := range r.nodes {
			if !union[i] && runsOn(samples[spec], n) {
				union[i] = true
				total++
			}
		}
	}
	return total
}

// count is how many nodes a pod can run on; 0 if it is but one.
func (r *reach) count(p *Pod) int {
	if n, known := r.known[p.Spec]; known {
		return n
	}
	n := 0
	if s := &p.Spec.NodeSelector; len(s.Labels) == 0 && !s.HasRequired {
		n = r.clean
		for _, i := range r.tainted {
			if Bears(p, r.nodes[i], hard) {
				n++
			}
		}
	} else {
		for _, node := range r.nodes {
			if runsOn(p, node) {
				n++
			}
		}
	}
	if n < 2 {
		n = 0
	}
	r.known[p.Spec] = n
	return n
}

func runsOn(p *Pod, n *Node) bool { return Bears(p, n, hard) && SelectsNode(p, n) }
