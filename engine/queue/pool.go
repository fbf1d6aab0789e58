package queue

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// pool holds pods that wait for a change, in groups of equal rules.
type pool struct {
	groups []*group // sorted by rules
	size   int
}

// group is the pods that the same rules rejected.
type group struct {
	rules   decision.RuleSet
	cares   decision.Change // what can undo the rejection
	members []*entry
}

func (p *pool) find(rules decision.RuleSet) (int, bool) {
	return slices.BinarySearchFunc(p.groups, rules, func(g *group, r decision.RuleSet) int {
		return cmp.Compare(g.rules, r)
	})
}

func (p *pool) add(e *entry, cares func(decision.RuleSet) decision.Change) {
	i, ok := p.find(e.rules)
	if !ok {
		p.groups = slices.Insert(p.groups, i, &group{rules: e.rules, cares: cares(e.rules)})
	}
	g := p.groups[i]
	e.at = len(g.members)
	g.members = append(g.members, e)
	p.size++
}

// remove takes e out. An empty group goes, so that groups stay as few as the
// sets of rules that are in use.
func (p *pool) remove(e *entry) {
	i, _ := p.find(e.rules)
	g := p.groups[i]
	last := len(g.members) - 1
	g.members[e.at] = g.members[last]
	g.members[e.at].at = e.at
	g.members[last] = nil
	g.members = g.members[:last]
	if last == 0 {
		p.groups = slices.Delete(p.groups, i, i+1)
	}
	p.size--
}

// concerned lists the pods that a change concerns.
func (p *pool) concerned(c decision.Change) []*entry {
	var out []*entry
	for _, g := range p.groups {
		if g.cares&c != 0 {
			out = append(out, g.members...)
		}
	}
	return out
}

// olderThan lists the pods that entered at t or before.
func (p *pool) olderThan(t time.Time) []*entry {
	var out []*entry
	for _, g := range p.groups {
		for _, e := range g.members {
			if !e.entered.After(t) {
				out = append(out, e)
			}
		}
	}
	return out
}
