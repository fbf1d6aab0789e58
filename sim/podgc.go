package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/internal/intake"
	"github.com/berthproject/berth/sim/store"
)

// collector is the actor that deletes pods that nobody else does. It sleeps while there is
// nothing that it might have to do.
type collector struct {
	*client
	machine *podgc.Collector
	going   bool
}

func newCollector(w *World) *collector {
	g := &collector{client: w.newClient("podgc", store.Nodes, store.Pods)}
	g.end = func() { g.going = false }
	g.begin = func() {
		g.machine = podgc.New(w.o.GC)
		g.soon()
	}
	g.see = func(_ store.Kind, _, now store.Object) {
		if p, ok := now.(*corev1.Pod); g.going || ok && !g.concerns(p) {
			return
		}
		g.soon()
	}
	g.start()
	return g
}

// soon has all pods looked at at the next full period, if that might find anything.
func (g *collector) soon() {
	if g.going || !g.any() {
		return
	}
	g.going = true
	now := g.w.Elapsed()
	g.after(now.Truncate(podgc.Period)+podgc.Period-now, func() {
		g.going = false
		g.sweep()
		g.soon()
	})
}

func (g *collector) any() bool {
	for _, o := range g.known[store.Pods] {
		if p, ok := o.(*corev1.Pod); ok && g.concerns(p) {
			return true
		}
	}
	return false
}

// concerns says whether a pod may be one to collect, now or later.
func (g *collector) concerns(p *corev1.Pod) bool {
	return finished(p) || p.DeletionTimestamp != nil || p.Spec.NodeName != "" && g.node(p.Spec.NodeName) == nil
}

func (g *collector) sweep() {
	var pods []podgc.Pod
	var nodes []podgc.Node
	for _, key := range sortedKeys(g.known[store.Pods]) {
		pods = append(pods, intake.CollectedPod(g.pod(key)))
	}
	for _, name := range sortedKeys(g.known[store.Nodes]) {
		nodes = append(nodes, intake.CollectedNode(g.node(name)))
	}
	for _, r := range g.machine.Sweep(g.w.now, pods, nodes) {
		p := g.pod(store.Key(r.Pod.Namespace, r.Pod.Name))
		if _, there := g.w.api.Get(store.Nodes, r.Pod.Node); p != nil && !(r.Why == podgc.Orphan && there) {
			g.remove(&r, p)
		}
	}
}

// remove deletes a pod at once. One whose node is gone is displaced, unless it had ended.
func (g *collector) remove(r *podgc.Removal, p *corev1.Pod) {
	now, key := int64(0), keyOf(p)
	if r.Why == podgc.Orphan && !r.Pod.Finished {
		g.displace(displacement{pod: p, grace: &now, fails: true, words: "is collected: " + r.Why.String(),
			record: displace.Record{Cause: displace.PodGC, Victim: g.w.model(p), Node: p.Spec.NodeName, Grace: &now,
				Rule: "node " + r.Pod.Node + " not seen since " + r.Since.UTC().Format(time.RFC3339)}}, func(error) {})
		return
	}
	g.send("delete", key, func() error {
		err := g.w.api.DeletePod(key, store.Precondition{UID: string(p.UID)}, &now)
		if err == nil {
			g.w.tell("podgc", "collect", key, key+" is collected: "+r.Why.String())
		}
		return err
	}, nil)
}
