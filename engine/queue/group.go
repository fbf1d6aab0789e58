package queue

import "github.com/berthproject/berth/engine/decision"

// QueueingHints is what waiting pods that are decided alike have in common. All its
// answers are about the things as they are now.
type QueueingHints interface {
	// EventsToRegister says which kinds of changes can undo a rejection by the rules.
	EventsToRegister(plugins decision.PluginSet) decision.ClusterEvents
	// Hint says whether a change may have undone it. If it did not, also is
	// the rules that reject the pods now where the change took place. If it may have,
	// but only on one node, node is that node's name.
	Hint(plugins decision.PluginSet, d *decision.Delta) (hint decision.QueueingHint, node string, also decision.PluginSet)
	// MayFit says whether a node that was named by Helps may take such a pod; if
	// not, also is the rules that reject it there.
	MayFit(plugins decision.PluginSet, node string) (may bool, also decision.PluginSet)
}

// alwaysQueue is the Kind of pods of which nothing is known but the table of
// changes and rules.
type alwaysQueue func(decision.PluginSet) decision.ClusterEvents

func (k alwaysQueue) EventsToRegister(r decision.PluginSet) decision.ClusterEvents { return k(r) }

func (k alwaysQueue) Hint(decision.PluginSet, *decision.Delta) (decision.QueueingHint, string, decision.PluginSet) {
	return decision.QueueForAnyNode, "", 0
}

func (k alwaysQueue) MayFit(decision.PluginSet, string) (bool, decision.PluginSet) { return true, 0 }

// group is the waiting pods of one Kind. A pod of it that is rejected speaks for all: what
// rejects it rejects them. So a change wakes one of them, the probe, and
// another one only when the probe was not rejected.
type group struct {
	key     any
	hints   QueueingHints
	members heap // by rank
	// plugins are such that one of them rejects the pods on each node, or everywhere.
	plugins decision.PluginSet
	events  decision.ClusterEvents

	probe *entry
	cause Cause
	// What the probe was woken for: anything, or these nodes.
	anyNode bool
	nodes   []string

	bucket      *bucket
	bucketIndex int // in the bucket
	poolIndex   int // in pool.groups
}

// maxProbeNodes is how many nodes are remembered that may take a probe; with more
// it is tried anyhow.
const maxProbeNodes = 16

// addPlugins adds rules to those that reject the group's pods.
func (p *pool) addPlugins(g *group, also decision.PluginSet) {
	if g.plugins|also != g.plugins {
		p.setPlugins(g, g.plugins|also)
	}
}

// setPlugins says what rejects the group's pods.
func (p *pool) setPlugins(g *group, plugins decision.PluginSet) {
	g.plugins = plugins
	if events := g.hints.EventsToRegister(plugins); g.bucket == nil || events != g.events {
		p.removeFromBucket(g)
		g.events = events
		p.addToBucket(g)
	}
}

// addHint notes what a change may have made possible for the group.
func (g *group) addHint(hint decision.QueueingHint, node string) {
	if hint == decision.QueueForAnyNode || len(g.nodes) == maxProbeNodes {
		g.anyNode = true
		return
	}
	for _, n := range g.nodes {
		if n == node {
			return
		}
	}
	if g.nodes == nil {
		g.nodes = make([]string, 0, maxProbeNodes)
	}
	g.nodes = append(g.nodes, node)
}

// endProbe ends the search for a pod of the group that fits.
func (g *group) endProbe() {
	g.probe, g.anyNode = nil, false
	clear(g.nodes)
	g.nodes = g.nodes[:0]
}
