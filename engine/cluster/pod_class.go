package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// PodClass is the set of pods of a namespace that are equal in all label keys that some
// selector in use reads. Other labels, such as the pod name in a StatefulSet, do not split
// classes.
type PodClass struct {
	Namespace string
	Labels    model.Labels // only used keys

	byNode map[NodeID]podCount

	counters []*DomainCounter // that count pods of the class
	terms    []*Term          // affinity terms of other pods that match the class
}

// podCount is the number of pods of a class on a node, without and with a deletionTimestamp.
type podCount struct{ active, deleting int32 }

func (c *PodClass) count(id NodeID, deleting bool, sign int32) {
	n := c.byNode[id]
	if deleting {
		n.deleting += sign
	} else {
		n.active += sign
	}
	if n == (podCount{}) {
		delete(c.byNode, id)
	} else {
		c.byNode[id] = n
	}
}

// podClasses finds classes by labels.
type podClasses struct {
	keys      map[string]bool // used by selectors
	byHash    map[uint64][]*PodClass
	byPair    map[model.Label][]*PodClass
	count     int
	bytes     int    // approximate memory of the labels
	dropAt    int    // number of classes at which empty ones are dropped
	minDropAt int    // minimum of dropAt
	filled    bool   // pods are counted
	version   uint64 // incremented when keys are added
}

func (c *podClasses) init() {
	c.keys = map[string]bool{}
	c.byHash, c.byPair = map[uint64][]*PodClass{}, map[model.Label][]*PodClass{}
	c.minDropAt = max(c.minDropAt, 1)
	c.count, c.bytes, c.dropAt, c.filled = 0, 0, c.minDropAt, false
}

// Class returns the class of a pod with these labels.
func (x *Index) Class(namespace string, labels model.Labels) *PodClass {
	cs := &x.classes
	h := Hash64(1, namespace)
	for i := range labels {
		if cs.keys[labels[i].Key] {
			h = h*31 + (Hash64(2, labels[i].Key) ^ Hash64(3, labels[i].Value))
		}
	}
	for _, c := range cs.byHash[h] {
		if c.Namespace == namespace && cs.equalInUsedKeys(c.Labels, labels) {
			return c
		}
	}
	c := &PodClass{Namespace: namespace, byNode: map[NodeID]podCount{}}
	for _, l := range labels {
		if cs.keys[l.Key] {
			c.Labels = append(c.Labels, l)
		}
	}
	if cs.count >= cs.dropAt {
		cs.dropEmpty()
	}
	cs.add(h, c)
	x.counterRegistry.visit(c.Labels, func(k *DomainCounter) {
		if x.matches(&k.Match, c) {
			c.counters = append(c.counters, k)
		}
	})
	x.termRegistry.visit(c.Labels, func(t *Term) {
		if x.termMatchesIncoming(&t.Match, c) {
			c.terms = append(c.terms, t)
		}
	})
	return c
}

// dropEmpty drops the classes without pods. They are created again when needed.
func (cs *podClasses) dropEmpty() {
	old := cs.byHash
	cs.byHash, cs.byPair = map[uint64][]*PodClass{}, map[model.Label][]*PodClass{}
	cs.count, cs.bytes = 0, 0
	for h, list := range old {
		for _, c := range list {
			if len(c.byNode) > 0 {
				cs.add(h, c)
			}
		}
	}
	cs.dropAt = max(cs.minDropAt, 2*cs.count)
}

func (cs *podClasses) add(hash uint64, c *PodClass) {
	cs.byHash[hash] = append(cs.byHash[hash], c)
	for _, l := range c.Labels {
		cs.byPair[l] = append(cs.byPair[l], c)
	}
	cs.count++
	cs.bytes += 2 * c.Labels.Bytes() // also in byPair
}

// equalInUsedKeys reports whether labels, without unused keys, equal used.
func (cs *podClasses) equalInUsedKeys(used, labels model.Labels) bool {
	i := 0
	for j := range labels {
		if i < len(used) && labels[j] == used[i] {
			i++
		} else if cs.keys[labels[j].Key] {
			return false
		}
	}
	return i == len(used)
}

// KeysVersion changes when a label key comes into use, so that pods of one class may
// become different.
func (x *Index) KeysVersion() uint64 { return x.classes.version }

// TrackSelector makes classes distinguish the labels that a selector reads. Pods with a
// newly used key change their class.
func (x *Index) TrackSelector(s *model.Selector) {
	if s == nil {
		return
	}
	var newKeys []string
	for i := range s.Requirements {
		if k := s.Requirements[i].Key; !x.classes.keys[k] && !slices.Contains(newKeys, k) {
			newKeys = append(newKeys, k)
		}
	}
	x.trackKeys(newKeys)
}

func (x *Index) trackKeys(newKeys []string) {
	if len(newKeys) == 0 {
		return
	}
	type move struct {
		id  NodeID
		pod *model.Pod
		old *PodClass
	}
	var moves []move
	for _, n := range x.state.nodes {
		if n == nil || !x.classes.filled {
			continue
		}
		for _, p := range n.Pods {
			if slices.ContainsFunc(newKeys, func(k string) bool { _, ok := p.Labels.Get(k); return ok }) {
				moves = append(moves, move{n.ID, p, x.Class(p.Namespace, p.Labels)})
			}
		}
	}
	for _, k := range newKeys {
		x.classes.keys[k] = true
		x.bytes += keyCost * len(k)
	}
	x.classes.version++
	for _, m := range moves {
		m.old.count(m.id, m.pod.Deleting, -1)
		x.Class(m.pod.Namespace, m.pod.Labels).count(m.id, m.pod.Deleting, 1)
	}
}

// TermsMatching returns the affinity terms of other pods that match pods of the class,
// including terms that no pod has any more. The slice only grows.
func (x *Index) TermsMatching(cl *PodClass) []*Term { return cl.terms }
