package queue

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// pool holds pods that wait for an event, in groups, and the groups in buckets by
// registered events.
type pool struct {
	byKey   map[any]*group
	groups  []*group // in no particular order
	buckets []*bucket
	size    int
	free    []*group // for reuse
}

// maxFreeGroups is the maximum number of dropped groups that are kept for reuse.
const maxFreeGroups = 128

// bucket holds the groups that registered for the same events.
type bucket struct {
	events decision.ClusterEvents
	groups []*group
}

func newPool() pool { return pool{byKey: map[any]*group{}} }

// groupOf returns the group of a key, creating it if necessary.
func (p *pool) groupOf(key any, hints QueueingHints) *group {
	g := p.byKey[key]
	if g == nil {
		g = p.newGroup()
		g.key, g.hints, g.poolIndex = key, hints, len(p.groups)
		p.byKey[key] = g
		p.groups = append(p.groups, g)
	}
	return g
}

// newGroup returns an empty group, reusing the memory of a dropped one.
func (p *pool) newGroup() *group {
	last := len(p.free) - 1
	if last < 0 {
		return &group{members: heap{less: lessByPriority}}
	}
	g := p.free[last]
	p.free = p.free[:last]
	*g = group{members: g.members, nodes: g.nodes[:0]}
	return g
}

func (p *pool) add(e *entry, g *group) {
	e.group = g
	g.members.push(e)
	p.size++
}

func (p *pool) remove(e *entry) {
	g := e.group
	g.members.remove(e)
	e.group = nil
	p.size--
	p.dropIfEmpty(g)
}

// dropIfEmpty drops a group that has neither pods nor a trial pod.
func (p *pool) dropIfEmpty(g *group) {
	if len(g.members.items) > 0 || g.trial != nil || p.byKey[g.key] != g {
		return
	}
	p.removeFromBucket(g)
	delete(p.byKey, g.key)
	last := len(p.groups) - 1
	p.groups[g.poolIndex] = p.groups[last]
	p.groups[g.poolIndex].poolIndex = g.poolIndex
	p.groups[last] = nil
	p.groups = p.groups[:last]
	g.key, g.hints = nil, nil
	if len(p.free) < maxFreeGroups && cap(g.members.items) <= maxTrialNodes {
		p.free = append(p.free, g)
	}
}

func (p *pool) addToBucket(g *group) {
	i, ok := slices.BinarySearchFunc(p.buckets, g.events, func(b *bucket, c decision.ClusterEvents) int { return cmp.Compare(b.events, c) })
	if !ok {
		p.buckets = slices.Insert(p.buckets, i, &bucket{events: g.events})
	}
	b := p.buckets[i]
	g.bucket, g.bucketIndex = b, len(b.groups)
	b.groups = append(b.groups, g)
}

// removeFromBucket removes g from its bucket. Empty buckets are kept, as there are few.
func (p *pool) removeFromBucket(g *group) {
	b := g.bucket
	if b == nil {
		return
	}
	last := len(b.groups) - 1
	b.groups[g.bucketIndex] = b.groups[last]
	b.groups[g.bucketIndex].bucketIndex = g.bucketIndex
	b.groups[last] = nil
	b.groups = b.groups[:last]
	g.bucket = nil
}

// groupsFor appends to dst the groups that registered for one of the events.
func (p *pool) groupsFor(dst []*group, c decision.ClusterEvents) []*group {
	for _, b := range p.buckets {
		if b.events&c != 0 {
			dst = append(dst, b.groups...)
		}
	}
	return dst
}

// olderThan returns the pods whose timestamp is t or earlier.
func (p *pool) olderThan(t time.Time) []*entry {
	var out []*entry
	for _, g := range p.groups {
		for _, e := range g.members.items {
			if !e.timestamp.After(t) {
				out = append(out, e)
			}
		}
	}
	return out
}
