package sim

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/sim/store"
)

// podgc is the actor that deletes pods that nobody else does: those of nodes that are
// gone, those that were deleted and never had a node, those of nodes that are declared out of
// service, and of those that have ended the oldest, when there are too many.
type podgc struct {
	*client
	gone  map[string]time.Time // nodes that pods name and that are not there, since when
	going bool
}

// GC is how finished pods are collected.
type GC struct {
	Ended int // how many pods that have ended may stay; 0: any number
}

const (
	gcPeriod   = 20 * time.Second
	quarantine = 40 * time.Second // a node has to be gone for so long
)

func newPodGC(w *World) *podgc {
	g := &podgc{client: w.newClient("podgc", store.Nodes, store.Pods)}
	g.end = func() { g.going = false }
	g.begin = func() {
		g.gone = map[string]time.Time{}
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
func (g *podgc) soon() {
	if g.going || !g.any() {
		return
	}
	g.going = true
	now := g.w.Elapsed()
	g.after(now.Truncate(gcPeriod)+gcPeriod-now, func() {
		g.going = false
		g.collect()
		g.soon()
	})
}

// any says whether there is something that may have to go now or later.
func (g *podgc) any() bool {
	for _, o := range g.known[store.Pods] {
		if p, ok := o.(*corev1.Pod); ok && g.concerns(p) {
			return true
		}
	}
	return false
}

// concerns says whether a pod may be one to collect.
func (g *podgc) concerns(p *corev1.Pod) bool {
	switch node := p.Spec.NodeName; {
	case finished(p) && g.w.o.GC.Ended > 0:
		return true
	case node != "" && g.node(node) == nil:
		return true
	default:
		return p.DeletionTimestamp != nil && (node == "" || g.outOfService(node))
	}
}

func (g *podgc) collect() {
	var ended []*corev1.Pod
	missing := map[string]bool{}
	for _, key := range sortedKeys(g.known[store.Pods]) {
		p := g.pod(key)
		node := p.Spec.NodeName
		switch {
		case node != "" && g.node(node) == nil:
			missing[node] = true
			if since, known := g.gone[node]; !known {
				g.gone[node] = g.w.now
			} else if _, there := g.w.api.Get(store.Nodes, node); g.w.now.Sub(since) >= quarantine && !there {
				g.collectOne(p, "node "+node+" is gone", displace.PodGC.Opening())
			}
		case p.DeletionTimestamp != nil && node == "":
			g.collectOne(p, "it was deleted and never had a node", "")
		case p.DeletionTimestamp != nil && g.outOfService(node):
			g.collectOne(p, "node "+node+" is out of service", "PodGC: node is out of service")
		case finished(p):
			ended = append(ended, p)
		}
	}
	for _, node := range sortedKeys(g.gone) {
		if !missing[node] {
			delete(g.gone, node)
		}
	}
	if n := len(ended) - g.w.o.GC.Ended; g.w.o.GC.Ended > 0 && n > 0 {
		slices.SortStableFunc(ended, byWorth)
		for _, p := range ended[:n] {
			g.collectOne(p, "too many pods have ended", "")
		}
	}
}

// byWorth puts evicted pods first, then the oldest.
func byWorth(a, b *corev1.Pod) int {
	rank := func(p *corev1.Pod) int {
		if p.Status.Reason == "Evicted" {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
}

// outOfService says whether a node is not ready and said to be out of service.
func (g *podgc) outOfService(name string) bool {
	n := g.node(name)
	return n != nil && !nodeReady(n) && slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
}

// collectOne deletes a pod at once. One that runs as far as anybody knows is displaced.
func (g *podgc) collectOne(p *corev1.Pod, why, opening string) {
	now := int64(0)
	if finished(p) || opening == "" {
		g.send("delete", keyOf(p), func() error {
			err := g.w.api.DeletePod(keyOf(p), store.Precondition{UID: string(p.UID)}, &now)
			if err == nil {
				g.w.tell("podgc", "collect", keyOf(p), keyOf(p)+" is collected: "+why)
			}
			return err
		}, nil)
		return
	}
	g.displace(displacement{pod: p, grace: &now, fails: true, words: "is collected: " + why,
		record: displace.Record{Cause: displace.PodGC, Victim: g.w.model(p), Node: p.Spec.NodeName, Opening: opening, Grace: &now}}, func(error) {})
}
