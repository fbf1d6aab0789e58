package queue

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// pool holds pods that wait for a change, in groups of equal pods, and the
// groups in buckets by the changes that concern them.
type pool struct {
	byKey   map[any]*group
	groups  []*group // in no order that matters
	buckets []*bucket
	size    int
	spare   []*group // dropped ones, to be used again
}

// manySpare is how many dropped groups are kept for reuse.
const manySpare = 128

// bucket is the groups that care for the same kinds of changes.
type bucket struct {
	cares  decision.Change
	groups []*group
}

func newPool() pool { return pool{byKey: map[any]*group{}} }

// groupOf finds or makes the group of a key.
func (p *pool) groupOf(key any, k Kind) *group {
	g := p.byKey[key]
	if g == nil {
		g = p.empty()
		g.key, g.kind, g.turn = key, k, len(p.groups)
		p.byKey[key] = g
		p.groups = append(p.groups, g)
	}
	return g
}

// empty is a group without anything, but for the room of one that was dropped.
func (p *pool) empty() *group {
	last := len(p.spare) - 1
	if last < 0 {
		return &group{members: heap{before: byRank}}
	}
	g := p.spare[last]
	p.spare = p.spare[:last]
	*g = group{members: g.members, nodes: g.nodes[:0]}
	return g
}

// add enters e into its group.
func (p *pool) add(e *entry, g *group) {
	e.group = g
	g.members.push(e)
	p.size++
}

// remove takes e out.
func (p *pool) remove(e *entry) {
	g := e.group
	g.members.remove(e)
	e.group = nil
	p.size--
	p.tidy(g)
}

// tidy drops a group that nobody is in, nor in search for.
func (p *pool) tidy(g *group) {
	if len(g.members.items) > 0 || g.probe != nil || p.byKey[g.key] != g {
		return
	}
	p.unfile(g)
	delete(p.byKey, g.key)
	last := len(p.groups) - 1
	p.groups[g.turn] = p.groups[last]
	p.groups[g.turn].turn = g.turn
	p.groups[last] = nil
	p.groups = p.groups[:last]
	if g.key, g.kind = nil, nil; len(p.spare) < manySpare && cap(g.members.items) <= manyNodes {
		p.spare = append(p.spare, g)
	}
}

// file puts g into the bucket of what it cares for.
func (p *pool) file(g *group) {
	i, ok := slices.BinarySearchFunc(p.buckets, g.cares, func(b *bucket, c decision.Change) int { return cmp.Compare(b.cares, c) })
	if !ok {
		p.buckets = slices.Insert(p.buckets, i, &bucket{cares: g.cares})
	}
	b := p.buckets[i]
	g.bucket, g.at = b, len(b.groups)
	b.groups = append(b.groups, g)
}

// unfile takes g out of its bucket. Empty buckets stay, as they are few.
func (p *pool) unfile(g *group) {
	b := g.bucket
	if b == nil {
		return
	}
	last := len(b.groups) - 1
	b.groups[g.at] = b.groups[last]
	b.groups[g.at].at = g.at
	b.groups[last] = nil
	b.groups = b.groups[:last]
	g.bucket = nil
}

// concerned appends the groups that care for a change.
func (p *pool) concerned(to []*group, c decision.Change) []*group {
	for _, b := range p.buckets {
		if b.cares&c != 0 {
			to = append(to, b.groups...)
		}
	}
	return to
}

// olderThan lists the pods that entered at t or before.
func (p *pool) olderThan(t time.Time) []*entry {
	var out []*entry
	for _, g := range p.groups {
		for _, e := range g.members.items {
			if !e.entered.After(t) {
				out = append(out, e)
			}
		}
	}
	return out
}
