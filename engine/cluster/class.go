package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// Class is all pods of a namespace that are alike in those labels that any
// selector in use reads. Labels that nobody selects by (a pod's own name in a
// StatefulSet, its index in a Job) do not split classes.
type Class struct {
	Namespace string
	Labels    model.Labels // only keys in use

	on map[NodeID]presence

	counters []*Counter // that the class counts in
	terms    []*Term    // of other pods, that act on the class
}

// presence is how many pods of a class a node has.
type presence struct{ live, deleting int32 }

func (c *Class) count(id NodeID, deleting bool, sign int32) {
	n := c.on[id]
	if deleting {
		n.deleting += sign
	} else {
		n.live += sign
	}
	if n == (presence{}) {
		delete(c.on, id)
	} else {
		c.on[id] = n
	}
}

// classes finds classes by labels.
type classes struct {
	keys   map[string]bool // label keys that selectors in use read
	byHash map[uint64][]*Class
	byPair map[model.Label][]*Class
	count  int
	sweep  int    // drop those without pods when there are more
	many   int    // the least of sweep
	filled bool   // pods are counted
	grown  uint64 // how often keys came into use
}

func (c *classes) init() {
	c.keys = map[string]bool{}
	c.byHash, c.byPair = map[uint64][]*Class{}, map[model.Label][]*Class{}
	c.many = max(c.many, 1)
	c.count, c.sweep, c.filled = 0, c.many, false
}

// Class returns the class of a pod with these labels.
func (x *Index) Class(namespace string, labels model.Labels) *Class {
	cs := &x.classes
	h := Hash64(1, namespace)
	for i := range labels {
		if cs.keys[labels[i].Key] {
			h = h*31 + (Hash64(2, labels[i].Key) ^ Hash64(3, labels[i].Value))
		}
	}
	for _, c := range cs.byHash[h] {
		if c.Namespace == namespace && cs.project(c.Labels, labels) {
			return c
		}
	}
	c := &Class{Namespace: namespace, on: map[NodeID]presence{}}
	for _, l := range labels {
		if cs.keys[l.Key] {
			c.Labels = append(c.Labels, l)
		}
	}
	if cs.count >= cs.sweep {
		cs.dropEmpty()
	}
	cs.enter(h, c)
	x.found.visit(c.Labels, func(k *Counter) {
		if x.matches(&k.Match, c) {
			c.counters = append(c.counters, k)
		}
	})
	x.acting.visit(c.Labels, func(t *Term) {
		if x.acts(&t.Match, c) {
			c.terms = append(c.terms, t)
		}
	})
	return c
}

// dropEmpty drops the classes without pods; they are made again when needed.
func (cs *classes) dropEmpty() {
	old := cs.byHash
	cs.byHash, cs.byPair, cs.count = map[uint64][]*Class{}, map[model.Label][]*Class{}, 0
	for h, list := range old {
		for _, c := range list {
			if len(c.on) > 0 {
				cs.enter(h, c)
			}
		}
	}
	cs.sweep = max(cs.many, 2*cs.count)
}

func (cs *classes) enter(hash uint64, c *Class) {
	cs.byHash[hash] = append(cs.byHash[hash], c)
	for _, l := range c.Labels {
		cs.byPair[l] = append(cs.byPair[l], c)
	}
	cs.count++
}

// project says whether labels, without the keys that are not in use, are want.
func (cs *classes) project(want, labels model.Labels) bool {
	i := 0
	for j := range labels {
		if i < len(want) && labels[j] == want[i] {
			i++
		} else if cs.keys[labels[j].Key] {
			return false
		}
	}
	return i == len(want)
}

// KeysVersion changes when label keys come into use: pods that were of one class
// until then may differ.
func (x *Index) KeysVersion() uint64 { return x.classes.grown }

// UseKeys makes sure that classes tell apart what a selector reads. Pods that
// have a label of a key that was not in use so far change their class.
func (x *Index) UseKeys(s *model.Selector) {
	if s == nil {
		return
	}
	var fresh []string
	for i := range s.Requirements {
		if k := s.Requirements[i].Key; !x.classes.keys[k] && !slices.Contains(fresh, k) {
			fresh = append(fresh, k)
		}
	}
	x.addKeys(fresh)
}

func (x *Index) addKeys(fresh []string) {
	if len(fresh) == 0 {
		return
	}
	type move struct {
		id  NodeID
		pod *model.Pod
		old *Class
	}
	var moves []move
	for _, n := range x.state.nodes {
		if n == nil || !x.classes.filled {
			continue
		}
		for _, p := range n.Pods {
			if slices.ContainsFunc(fresh, func(k string) bool { _, ok := p.Labels.Get(k); return ok }) {
				moves = append(moves, move{n.ID, p, x.Class(p.Namespace, p.Labels)})
			}
		}
	}
	for _, k := range fresh {
		x.classes.keys[k] = true
	}
	x.classes.grown++
	for _, m := range moves {
		m.old.count(m.id, m.pod.Deleting, -1)
		x.Class(m.pod.Namespace, m.pod.Labels).count(m.id, m.pod.Deleting, 1)
	}
}

// TermsOn are the terms of other pods that match pods of the class: their
// required anti-affinity, required affinity and preferences. Terms without an
// owner may be among them. The slice grows as terms come; what was in it stays.
func (x *Index) TermsOn(cl *Class) []*Term { return cl.terms }
