package descheduling

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// nodeContents holds which pods are on which node. Entries are replaced, never modified, so
// that iterations and Atomically keep the old state.
type nodeContents struct {
	contents map[*Node]*podsOnNode
	byName   map[string]*Node
	moved    map[*Pod]*Node // nil: the target is unknown
}

// podsOnNode are the pods on one node.
type podsOnNode struct {
	all, unfinished []*Pod           // sorted by namespace and name
	requests        *model.Resources // sum over the unfinished pods; nil until it is computed
}

func newNodeContents(s *Snapshot) nodeContents {
	v := nodeContents{contents: make(map[*Node]*podsOnNode, len(s.Nodes)), byName: make(map[string]*Node, len(s.Nodes)), moved: map[*Pod]*Node{}}
	for _, n := range s.Nodes {
		v.contents[n] = newPodsOnNode(n.Pods)
		v.byName[n.Name] = n
	}
	return v
}

func newPodsOnNode(pods []*Pod) *podsOnNode {
	p := &podsOnNode{all: pods, unfinished: pods}
	if slices.ContainsFunc(pods, func(p *Pod) bool { return p.Finished() }) {
		p.unfinished = nil
		for _, pod := range pods {
			if !pod.Finished() {
				p.unfinished = append(p.unfinished, pod)
			}
		}
	}
	return p
}

// move moves a pod off a node and, if to is known, onto it.
func (v *nodeContents) move(p *Pod, from, to *Node) {
	v.moved[p] = to
	remaining := slices.DeleteFunc(slices.Clone(v.contents[from].all), func(q *Pod) bool { return q == p })
	v.contents[from] = newPodsOnNode(remaining)
	if to == nil {
		return
	}
	old := v.contents[to].all
	i, _ := slices.BinarySearchFunc(old, p, compareByKey)
	v.contents[to] = newPodsOnNode(slices.Insert(slices.Clone(old), i, p))
}

func compareByKey(a, b *Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Requests returns the sum of the requests of the unfinished pods on n.
func (r *Round) Requests(n *Node) *model.Resources { return r.nodePods.contents[n].requested() }

func (p *podsOnNode) requested() *model.Resources {
	if p.requests != nil {
		return p.requests
	}
	sum := &model.Resources{}
	for _, pod := range p.unfinished {
		addRequests(sum, &pod.Spec.Requests)
	}
	p.requests = sum
	return sum
}

func addRequests(sum, r *model.Resources) {
	sum.MilliCPU += r.MilliCPU
	sum.Memory += r.Memory
	sum.Ephemeral += r.Ephemeral
	for _, s := range r.Scalars {
		i := slices.IndexFunc(sum.Scalars, func(t model.Scalar) bool { return t.Name == s.Name })
		if i < 0 {
			sum.Scalars = append(sum.Scalars, s)
		} else {
			sum.Scalars[i].Amount += s.Amount
		}
	}
}
