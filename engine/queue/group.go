package queue

import "github.com/berthproject/berth/engine/decision"

// QueueingHints gives the queueing hints for the pods of one group, based on the current
// state of the cluster.
type QueueingHints interface {
	// EventsToRegister returns the events that may undo a rejection by the plugins.
	EventsToRegister(plugins decision.PluginSet) decision.ClusterEvents
	// Hint returns whether an event may have undone the rejection. For QueueSkip, added are
	// further plugins that now reject the pods on the node of the event. For QueueForNode, node
	// is the name of that node.
	Hint(plugins decision.PluginSet, d *decision.Delta) (hint decision.QueueingHint, node string, added decision.PluginSet)
	// MayFit reports whether a node named by Hint may still fit a pod of the group. If not,
	// added are the plugins that reject the pod on the node.
	MayFit(node string) (fits bool, added decision.PluginSet)
}

// alwaysQueue implements QueueingHints for pods without hints: every registered event
// queues the pod.
type alwaysQueue func(decision.PluginSet) decision.ClusterEvents

func (a alwaysQueue) EventsToRegister(plugins decision.PluginSet) decision.ClusterEvents {
	return a(plugins)
}

func (a alwaysQueue) Hint(decision.PluginSet, *decision.Delta) (decision.QueueingHint, string, decision.PluginSet) {
	return decision.QueueForAnyNode, "", 0
}

func (a alwaysQueue) MayFit(string) (bool, decision.PluginSet) { return true, 0 }

// group holds the unschedulable pods with one key. A rejection of one pod applies to all of them, so an event queues only
// one pod, the trial pod. The next pod is queued if the trial pod is not rejected.
type group struct {
	key     any
	hints   QueueingHints
	members heap // ordered by priority
	// plugins include, for each node, one that rejects the pods.
	plugins decision.PluginSet
	events  decision.ClusterEvents

	trial *entry
	cause Cause
	// anyNode and nodes are where the trial pod may fit.
	anyNode bool
	nodes   []string

	bucket      *bucket
	bucketIndex int // in bucket.groups
	poolIndex   int // in pool.groups
}

// maxTrialNodes is the maximum number of node names that are kept for a trial pod; with more, any
// node may fit.
const maxTrialNodes = 16

func (p *pool) addPlugins(g *group, plugins decision.PluginSet) {
	if g.plugins|plugins != g.plugins {
		p.setPlugins(g, g.plugins|plugins)
	}
}

func (p *pool) setPlugins(g *group, plugins decision.PluginSet) {
	g.plugins = plugins
	if events := g.hints.EventsToRegister(plugins); g.bucket == nil || events != g.events {
		p.removeFromBucket(g)
		g.events = events
		p.addToBucket(g)
	}
}

// addHint records where an event may have made the group schedulable.
func (g *group) addHint(hint decision.QueueingHint, node string) {
	if hint == decision.QueueForAnyNode || len(g.nodes) == maxTrialNodes {
		g.anyNode = true
		return
	}
	for _, n := range g.nodes {
		if n == node {
			return
		}
	}
	if g.nodes == nil {
		g.nodes = make([]string, 0, maxTrialNodes)
	}
	g.nodes = append(g.nodes, node)
}

func (g *group) endTrial() {
	g.trial, g.anyNode = nil, false
	clear(g.nodes)
	g.nodes = g.nodes[:0]
}
