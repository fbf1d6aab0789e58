package cluster

import "github.com/berthproject/berth/engine/model"

// SpreadGroupsVersion changes when the groups of a namespace do.
func (x *Index) SpreadGroupsVersion(namespace string) uint64 { return x.groupVersions[namespace] }

func (x *Index) spreadGroupsChanged(namespace string) {
	if x == nil {
		return
	}
	x.groupVersions[namespace]++
	x.trackGroupSelectors(namespace)
}

// trackGroupSelectors tells pods apart by what the selectors of groups read, as those
// decide by what a pod without constraints of its own is spread.
func (x *Index) trackGroupSelectors(namespace string) {
	for _, g := range x.state.SpreadGroups(namespace) {
		x.TrackSelector(g.Selector)
	}
}

// namespaceChanged forgets what was found by the labels of a namespace.
func (x *Index) namespaceChanged(name string) {
	if x == nil || !x.readsNamespaces {
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
	x.nodeValues = map[string]*NodeValues{}
	x.counters, x.counterList = map[string]*DomainCounter{}, nil
	x.byEligible = map[eligibleKey]*DomainCounter{}
	x.terms = map[string]*Term{}
	x.counterRegistry, x.termRegistry = selectorRegistry[*DomainCounter]{}, selectorRegistry[*Term]{}
	x.specs = map[*model.PodSpec]*specTerms{}
	x.readsNamespaces, x.bytes = false, 0
	x.classes.init()
	x.countAllPods()
}

// Size is how much the Index keeps beside what the cluster itself needs: about
// how many bytes, and how many counters, terms and derived columns, each of which has
// a cost with new classes or with changes of nodes. They are not dropped one by one
// when nobody asks for them any more; an engine that finds them too many may Reset.
func (x *Index) Size() (bytes, things int) {
	things = len(x.counterList) + len(x.terms) + len(x.nodeValues)
	return x.bytes + 4*len(x.nodeValues)*len(x.Rows) + 500*(things+x.classes.count), things
}
