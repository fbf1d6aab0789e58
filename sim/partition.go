package sim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/sim/store"
)

// PartitionNode parts a node from the API: its agent lives, sees nothing new, and can write
// nothing. Its pods run on, and it restarts their containers.
func (w *World) PartitionNode(node string) {
	a := w.agents
	a.partitioned[node] = true
	if _, silent := a.silentSince[node]; !silent {
		a.silentSince[node] = w.now
	}
	w.nodeLifecycle.steps.schedule(0)
}

// ReconnectNode ends CutOff: the agent lists its pods, ends those that are gone or to go, and
// writes what it could not.
func (w *World) ReconnectNode(node string) {
	a := w.agents
	if !a.partitioned[node] {
		return
	}
	delete(a.partitioned, node)
	if a.stopped[node] {
		return // the component that starts it does the rest
	}
	delete(a.silentSince, node)
	a.postStatus(node, w.o.Latency)
	w.after(w.o.Latency, func() { a.relist(node) })
}

// relist has a node's agent see all of its pods as they are now.
func (a *agents) relist(node string) {
	there := map[types.UID]bool{}
	for _, o := range slices.Clone(a.w.api.List(store.Pods)) {
		if p, ok := o.(*corev1.Pod); ok && p.Spec.NodeName == node {
			there[p.UID] = true
			a.observePod(p, false)
		}
	}
	for _, uid := range sortedKeys(a.pods) {
		p := a.pods[uid]
		switch {
		case p.object.Spec.NodeName != node:
		case !there[uid]:
			a.w.log("agent", "stopped", keyOf(p.object), keyOf(p.object)+" is stopped on "+node+": the API knows it no more")
			a.observePod(p.object, true)
		case p.dirty && !p.writing:
			a.writeStatus(p)
		}
	}
}
