package agent

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// Options configure the node pressure of nodes with scripted usage.
type Options struct {
	Pressure nodepressure.Config
	Reserve  nodepressure.DiskReserveConfig
}

// Agents are the node agents. They share one watch. Create them with New.
type Agents struct {
	w         *sim.World
	o         Options
	reflector *sim.Reflector
	machines  map[string]*machine // by node
	metrics   *agent.Metrics
	*leases
}

// New starts the agents of all nodes.
func New(w *sim.World, o Options) *Agents {
	a := &Agents{w: w, o: o, machines: map[string]*machine{}, metrics: agent.NewMetrics()}
	a.leases = newLeases(w)
	a.reflector = w.NewReflector("agents", a, store.Nodes, store.Pods)
	a.reflector.Filter = func(c store.Change) bool {
		p, isPod := c.Object().(*corev1.Pod)
		return !isPod || p.Spec.NodeName != ""
	}
	w.OnCommit(a.observeResize)
	w.OnClose(func() {
		for _, m := range a.sorted() {
			m.stop()
		}
	})
	a.reflector.Start()
	return a
}

// sorted returns the machines by name.
func (a *Agents) sorted() []*machine {
	out := make([]*machine, 0, len(a.machines))
	for _, name := range slices.Sorted(maps.Keys(a.machines)) {
		out = append(out, a.machines[name])
	}
	return out
}

// findMachine returns the machine of a node, or nil if the node has never existed.
func (a *Agents) findMachine(node string) *machine {
	if m := a.machines[node]; m != nil {
		return m
	}
	if n := store.Get[*corev1.Node](a.w.API(), node); n != nil {
		return a.ensureMachine(n)
	}
	return nil
}

// ensureMachine returns the machine of a node. It creates the machine if it does not exist.
func (a *Agents) ensureMachine(n *corev1.Node) *machine {
	m := a.machines[n.Name]
	if m == nil {
		m = newMachine(a, n, len(a.machines))
		a.machines[n.Name] = m
	}
	return m
}

// Change implements sim.Actor.
func (a *Agents) Change(c store.Change) {
	switch o := c.Object().(type) {
	case *corev1.Pod:
		if m := a.findMachine(o.Spec.NodeName); m != nil {
			m.observePod(o, c.New == nil)
		}
	case *corev1.Node:
		if c.New != nil {
			a.ensureMachine(o).observeNode(o)
		}
	}
}

// Replace implements sim.Actor.
func (a *Agents) Replace(k store.Kind, list []store.Object) {
	bound := map[string][]*corev1.Pod{}
	for _, o := range list {
		switch o := o.(type) {
		case *corev1.Node:
			a.ensureMachine(o).observeNode(o)
		case *corev1.Pod:
			if o.Spec.NodeName != "" && a.findMachine(o.Spec.NodeName) != nil {
				bound[o.Spec.NodeName] = append(bound[o.Spec.NodeName], o)
			}
		}
	}
	if k != store.Pods {
		return
	}
	for _, m := range a.sorted() {
		m.replacePods(bound[m.name])
	}
}

// Kill implements sim.Actor: it stops every running agent, and starts it again after d.
func (a *Agents) Kill(d time.Duration) {
	for _, o := range slices.Clone(a.w.API().List(store.Nodes)) {
		if m := a.findMachine(o.GetName()); !m.stopped {
			a.StopAgent(m.name)
			a.w.After(d, func() { a.StartAgent(m.name) })
		}
	}
}

// listPods returns the stored pods of a node.
func (a *Agents) listPods(node string) (out []*corev1.Pod) {
	for p := range store.All[*corev1.Pod](a.w.API()) {
		if p.Spec.NodeName == node {
			out = append(out, p)
		}
	}
	return out
}

// exists reports whether the API has a pod.
func (a *Agents) exists(p *corev1.Pod) bool {
	stored := a.w.API().Pod(store.KeyOf(p))
	return stored != nil && stored.UID == p.UID
}

// observeResize restarts the agent of a machine whose resources a scenario has changed. An agent that is not connected is
// restarted later, see connect.
func (a *Agents) observeResize(c store.Change) {
	n, ok := c.New.(*corev1.Node)
	if !ok || c.Old == nil {
		return
	}
	m := a.machines[n.Name]
	if m == nil || m.process == nil || m.process.hasResources(n) {
		return
	}
	a.w.After(0, func() {
		if m.process != nil && m.isConnected() {
			m.stop()
			m.restart()
		}
	})
}

// uids returns the UIDs of pods.
func uids(pods []*corev1.Pod) map[types.UID]bool {
	out := make(map[types.UID]bool, len(pods))
	for _, p := range pods {
		out[p.UID] = true
	}
	return out
}
