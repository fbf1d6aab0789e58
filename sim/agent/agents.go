package agent

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// Options configure the node pressure of nodes with scripted usage.
type Options struct {
	Pressure nodepressure.Config
	Reserve  nodepressure.DiskReserveConfig
}

// Agents are the node agents: each runs the lifecycles of its node's pods. The containers
// survive a restart of their agent. Create them with New.
type Agents struct {
	w             *sim.World
	o             Options
	reflector     *sim.Reflector
	stopped       map[string]bool // nodes whose agent is stopped
	partitioned   map[string]bool // nodes that are partitioned from the API
	pods          map[types.UID]*agentPod
	containers    containers
	nodePressures nodePressures
	admission     nodeAdmission
	addresses     uint32 // number of pod addresses assigned
	heartbeats
	*leases
}

// New starts the agents of all nodes.
func New(w *sim.World, o Options) *Agents {
	a := &Agents{w: w, o: o, stopped: map[string]bool{}, partitioned: map[string]bool{}, pods: map[types.UID]*agentPod{}, heartbeats: newHeartbeats(w)}
	a.leases = newLeases(w, &a.heartbeats)
	a.nodePressures, a.admission = newNodePressures(w, a), newNodeAdmission(w, a)
	a.containers = newContainers(w, func(uid types.UID, e podlifecycle.Event) {
		if p := a.pods[uid]; p != nil {
			a.step(p, e)
		}
	})
	a.reflector = w.NewReflector("agents", a, store.Nodes, store.Pods)
	a.reflector.Filter = func(c store.Change) bool {
		p, isPod := c.Object().(*corev1.Pod)
		return !isPod || p.Spec.NodeName != ""
	}
	a.reflector.Start()
	return a
}

// Change implements sim.Actor.
func (a *Agents) Change(c store.Change) {
	switch o := c.Object().(type) {
	case *corev1.Pod:
		a.observePod(o, c.New == nil)
	case *corev1.Node:
		if c.New != nil {
			a.observeNode(o)
			a.nodePressures.startNode(o.Name)
		}
	}
}

// Replace implements sim.Actor.
func (a *Agents) Replace(k store.Kind, list []store.Object) {
	if k == store.Nodes {
		for _, o := range list {
			if n, ok := o.(*corev1.Node); ok {
				a.observeNode(n)
			}
		}
		return
	}
	listed := map[types.UID]bool{}
	var pods []*corev1.Pod
	for _, o := range list {
		if p, ok := o.(*corev1.Pod); ok && p.Spec.NodeName != "" {
			listed[p.UID] = true
			pods = append(pods, p)
		}
	}
	slices.SortStableFunc(pods, compareAdmitted)
	for _, p := range pods {
		a.observePod(p, false)
	}
	for _, uid := range slices.Sorted(maps.Keys(a.pods)) {
		if p := a.pods[uid]; !listed[uid] {
			a.observePod(p.object, true)
		}
	}
}

// Kill implements sim.Actor: it stops every running agent, and starts it after d.
func (a *Agents) Kill(d time.Duration) {
	for _, o := range slices.Clone(a.w.API().List(store.Nodes)) {
		if name := o.GetName(); !a.stopped[name] {
			a.StopAgent(name)
			a.w.After(d, func() { a.StartAgent(name) })
		}
	}
}
