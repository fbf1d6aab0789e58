package queue

import "github.com/berthproject/berth/engine/decision"

// Kind is what waiting pods that are decided alike have in common. All its
// answers are about the things as they are now.
type Kind interface {
	// Cares says which kinds of changes can undo a rejection by the rules.
	Cares(rules decision.RuleSet) decision.Change
	// Helps says whether a change may have undone it. If it did not, also is
	// the rules that reject the pods now where the change took place. If it may have,
	// but only on one node, node is that node's name.
	Helps(rules decision.RuleSet, d *decision.Delta) (help decision.Help, node string, also decision.RuleSet)
	// Still says whether a node that was named by Helps may take such a pod; if
	// not, also is the rules that reject it there.
	Still(rules decision.RuleSet, node string) (may bool, also decision.RuleSet)
}

// anyKind is the Kind of pods of which nothing is known but the table of
// changes and rules.
type anyKind func(decision.RuleSet) decision.Change

func (k anyKind) Cares(r decision.RuleSet) decision.Change { return k(r) }

func (k anyKind) Helps(decision.RuleSet, *decision.Delta) (decision.Help, string, decision.RuleSet) {
	return decision.HelpsAnywhere, "", 0
}

func (k anyKind) Still(decision.RuleSet, string) (bool, decision.RuleSet) { return true, 0 }

// group is the waiting pods of one Kind. A pod of it that is rejected speaks for all: what
// rejects it rejects them. So a change wakes one of them, the probe, and
// another one only when the probe was not rejected.
type group struct {
	key     any
	kind    Kind
	members heap // by rank
	// rules are such that one of them rejects the pods on each node, or everywhere.
	rules decision.RuleSet
	cares decision.Change

	probe *entry
	cause Cause
	// What the probe was woken for: anything, or these nodes.
	anywhere bool
	nodes    []string

	bucket *bucket
	at     int // in the bucket
	turn   int // in pool.groups
}

// manyNodes is how many nodes are remembered that may take a probe; with more
// it is tried anyhow.
const manyNodes = 16

// widen adds rules to those that reject the group's pods.
func (p *pool) widen(g *group, also decision.RuleSet) {
	if g.rules|also != g.rules {
		p.setRules(g, g.rules|also)
	}
}

// setRules says what rejects the group's pods.
func (p *pool) setRules(g *group, rules decision.RuleSet) {
	g.rules = rules
	if cares := g.kind.Cares(rules); g.bucket == nil || cares != g.cares {
		p.unfile(g)
		g.cares = cares
		p.file(g)
	}
}

// hope notes what a change may have made possible for the group.
func (g *group) hope(help decision.Help, node string) {
	if help == decision.HelpsAnywhere || len(g.nodes) == manyNodes {
		g.anywhere = true
		return
	}
	for _, n := range g.nodes {
		if n == node {
			return
		}
	}
	if g.nodes == nil {
		g.nodes = make([]string, 0, manyNodes)
	}
	g.nodes = append(g.nodes, node)
}

// close ends the search for a pod of the group that fits.
func (g *group) close() {
	g.probe, g.anywhere = nil, false
	clear(g.nodes)
	g.nodes = g.nodes[:0]
}
