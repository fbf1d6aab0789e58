package agent

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/sim/store"
)

// StopAgent stops the agent of a node; its pods keep running.
func (a *Agents) StopAgent(node string) {
	a.stopped[node] = true
	a.nodePressures.removeNode(node)
	if _, silent := a.silentSince[node]; !silent {
		a.silentSince[node] = a.w.Now()
	}
	a.w.Notify(Silent{node})
	for _, uid := range slices.Sorted(maps.Keys(a.pods)) {
		if a.pods[uid].object.Spec.NodeName == node {
			delete(a.pods, uid)
		}
	}
}

// StartAgent starts the agent of a node from a list.
func (a *Agents) StartAgent(node string) {
	if !a.stopped[node] {
		return
	}
	delete(a.stopped, node)
	if a.partitioned[node] {
		return // Reconnect lists
	}
	delete(a.silentSince, node)
	a.postStatus(node, a.w.Latency())
	a.w.After(a.w.Latency(), func() { a.relist(node) })
}

// Partition disconnects a node from the API: its agent keeps running but observes and
// writes nothing.
func (a *Agents) Partition(node string) {
	a.partitioned[node] = true
	if _, silent := a.silentSince[node]; !silent {
		a.silentSince[node] = a.w.Now()
	}
	a.w.Notify(Silent{node})
}

// Reconnect ends Partition: the agent lists its pods, stops deleted ones and writes
// pending statuses.
func (a *Agents) Reconnect(node string) {
	if !a.partitioned[node] {
		return
	}
	delete(a.partitioned, node)
	if a.stopped[node] {
		return // StartAgent lists when the agent starts
	}
	delete(a.silentSince, node)
	a.postStatus(node, a.w.Latency())
	a.w.After(a.w.Latency(), func() { a.relist(node) })
}

// relist makes a node's agent observe all of its current pods.
func (a *Agents) relist(node string) {
	listed := map[types.UID]bool{}
	for _, o := range slices.Clone(a.w.API().List(store.Pods)) {
		if p, ok := o.(*corev1.Pod); ok && p.Spec.NodeName == node {
			listed[p.UID] = true
			a.observePod(p, false)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(a.pods)) {
		p := a.pods[uid]
		switch {
		case p.object.Spec.NodeName != node:
		case !listed[uid]:
			a.w.Log("agent", "stopped", store.KeyOf(p.object), store.KeyOf(p.object)+" is stopped on "+node+": it no longer exists in the API")
			a.observePod(p.object, true)
		case p.dirty && !p.writing:
			a.writeStatus(p)
		}
	}
}

// Recover restarts stopped agents, reconnects partitioned nodes, and ends reported conditions.
func (a *Agents) Recover() {
	a.reports = map[string]map[corev1.NodeConditionType]corev1.ConditionStatus{}
	for _, o := range slices.Clone(a.w.API().List(store.Nodes)) {
		a.postStatus(o.GetName(), a.w.Latency())
	}
	for _, node := range slices.Sorted(maps.Keys(a.stopped)) {
		a.StartAgent(node)
	}
	for _, node := range slices.Sorted(maps.Keys(a.partitioned)) {
		a.Reconnect(node)
	}
}
