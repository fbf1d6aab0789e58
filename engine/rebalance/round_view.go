package rebalance

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// view is where pods are by now. Places are replaced, never written to, so that what was is kept for those who
// go through a node's pods, and for Together.
type view struct {
	places map[*Node]*place
	byName map[string]*Node
	moved  map[*Pod]*Node // nil: nobody knows where to
}

// place is what is on a node.
type place struct {
	all, live []*Pod // by namespace and name
	used      *model.Requests
}

func newView(s *Snapshot) view {
	v := view{places: make(map[*Node]*place, len(s.Nodes)), byName: make(map[string]*Node, len(s.Nodes)), moved: map[*Pod]*Node{}}
	for _, n := range s.Nodes {
		v.places[n] = placeOf(n.Pods)
		v.byName[n.Name] = n
	}
	return v
}

func placeOf(pods []*Pod) *place {
	p := &place{all: pods, live: pods}
	if slices.ContainsFunc(pods, func(p *Pod) bool { return p.Finished() }) {
		p.live = nil
		for _, pod := range pods {
			if !pod.Finished() {
				p.live = append(p.live, pod)
			}
		}
	}
	return p
}

// move takes a pod off a node and, if that is known, to another.
func (v *view) move(p *Pod, from, to *Node) {
	v.moved[p] = to
	rest := slices.DeleteFunc(slices.Clone(v.places[from].all), func(q *Pod) bool { return q == p })
	v.places[from] = placeOf(rest)
	if to == nil {
		return
	}
	old := v.places[to].all
	i, _ := slices.BinarySearchFunc(old, p, byKey)
	v.places[to] = placeOf(slices.Insert(slices.Clone(old), i, p))
}

func byKey(a, b *Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// requested is the sum of what the pods of a place request.
func (p *place) requested() *model.Requests {
	if p.used != nil {
		return p.used
	}
	sum := &model.Requests{}
	for _, pod := range p.live {
		add(sum, &pod.Spec.Requests)
	}
	p.used = sum
	return sum
}

func add(sum, r *model.Requests) {
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
