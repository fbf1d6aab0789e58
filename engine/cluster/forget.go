package cluster

import "github.com/berthproject/berth/engine/model"

// GroupsVersion changes when the groups of a namespace do.
func (x *Index) GroupsVersion(namespace string) uint64 { return x.groups[namespace] }

func (x *Index) groupsChanged(namespace string) {
	if x == nil {
		return
	}
	x.groups[namespace]++
	x.useGroupKeys(namespace)
}

// useGroupKeys tells pods apart by what the selectors of groups read, as those
// decide by what a pod without constraints of its own is spread.
func (x *Index) useGroupKeys(namespace string) {
	for _, g := range x.state.Groups(namespace) {
		x.UseKeys(g.Selector)
	}
}

// namespaceChanged forgets what was found by the labels of a namespace.
func (x *Index) namespaceChanged(name string) {
	if x == nil || !x.spaceSelectors {
		return
	}
	for _, list := range x.classes.byHash {
		for _, c := range list {
			if c.Namespace == name {
				x.Reset()
				return
			}
		}
	}
}

// Reset drops all counters, derived numbers and classes, and counts the terms of
// the pods anew. Whatever was
// got from the Index is void, classes included.
func (x *Index) Reset() {
	x.Epoch++
	x.derived = map[string]*Derived{}
	x.counters, x.listed = map[string]*Counter{}, nil
	x.extents = map[extentKey]*Counter{}
	x.terms = map[string]*Term{}
	x.found, x.acting = registry[*Counter]{}, registry[*Term]{}
	x.specs = map[*model.PodSpec]*specTerms{}
	x.spaceSelectors, x.bytes = false, 0
	x.classes.init()
	x.fill()
}

// Size is how much the Index keeps beside what the cluster itself needs: about
// how many bytes, and how many counters, terms and derived columns, each of which has
// a cost with new classes or with changes of nodes. They are not dropped one by one
// when nobody asks for them any more; an engine that finds them too many may Reset.
func (x *Index) Size() (bytes, things int) {
	things = len(x.listed) + len(x.terms) + len(x.derived)
	return x.bytes + 4*len(x.derived)*len(x.Rows) + 500*(things+x.classes.count), things
}
