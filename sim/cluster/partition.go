package cluster

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/sim/store"
)

// PartitionNode disconnects a node from the API: its agent keeps running but observes and
// writes nothing.
func (w *Cluster) PartitionNode(node string) {
	a := w.agents
	a.partitioned[node] = true
	if _, silent := a.silentSince[node]; !silent {
		a.silentSince[node] = w.Now()
	}
	w.nodeLifecycle.steps.Schedule(0)
}

// ReconnectNode ends PartitionNode: the agent lists its pods, stops deleted ones and writes
// pending statuses.
func (w *Cluster) ReconnectNode(node string) {
	a := w.agents
	if !a.partitioned[node] {
		return
	}
	delete(a.partitioned, node)
	if a.stopped[node] {
		return // StartAgent does the rest
	}
	delete(a.silentSince, node)
	a.postStatus(node, w.Latency())
	w.After(w.Latency(), func() { a.relist(node) })
}

// relist makes a node's agent observe all of its current pods.
func (a *agents) relist(node string) {
	there := map[types.UID]bool{}
	for _, o := range slices.Clone(a.w.API().List(store.Pods)) {
		if p, ok := o.(*corev1.Pod); ok && p.Spec.NodeName == node {
			there[p.UID] = true
			a.observePod(p, false)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(a.pods)) {
		p := a.pods[uid]
		switch {
		case p.object.Spec.NodeName != node:
		case !there[uid]:
			a.w.Log("agent", "stopped", store.KeyOf(p.object), store.KeyOf(p.object)+" is stopped on "+node+": it no longer exists in the API")
			a.observePod(p.object, true)
		case p.dirty && !p.writing:
			a.writeStatus(p)
		}
	}
}
