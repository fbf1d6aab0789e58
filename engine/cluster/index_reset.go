package cluster

import "github.com/berthproject/berth/engine/model"

// SpreadGroupsVersion changes when the spread groups of a namespace change.
func (x *Index) SpreadGroupsVersion(namespace string) uint64 { return x.groupVersions[namespace] }

func (x *Index) spreadGroupsChanged(namespace string) {
	if x == nil {
		return
	}
	x.groupVersions[namespace]++
	x.trackGroupSelectors(namespace)
}

// trackGroupSelectors makes pod classes distinguish the labels that the selectors of
// spread groups read.
func (x *Index) trackGroupSelectors(namespace string) {
	for _, g := range x.state.SpreadGroups(namespace) {
		x.TrackSelector(g.Selector)
	}
}

// namespaceChanged invalidates matches that depend on the labels of a namespace.
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

// Reset drops all counters, derived values and pod classes, and counts all pods again.
// Everything obtained from the Index becomes invalid.
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

// keyCost is the memory of a counter, term or derived value per byte of its key. It covers the key,
// the selectors that it stands for, and their strings, which the pod's specification shares.
const keyCost = 3

// Size returns the approximate memory of the index in bytes. It also returns the number of counters, terms and derived
// values, each of which makes changes more expensive. They are not dropped individually; the engine calls Reset if
// there are too many.
func (x *Index) Size() (bytes, objects int) {
	objects = len(x.counterList) + len(x.terms) + len(x.nodeValues)
	return x.bytes + x.classes.bytes + 4*len(x.nodeValues)*len(x.Rows) + 500*(objects+x.classes.count), objects
}
