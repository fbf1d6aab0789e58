package controllers

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/store"
)

// podGC is the pod garbage collector. It runs only while there are candidates.
type podGC struct {
	*sim.Client
	w         *sim.World
	server    *displacement.Server
	o         podgc.Options
	machine   *podgc.Collector
	scheduled bool
}

// StartPodGC starts the pod garbage collector.
func StartPodGC(w *sim.World, server *displacement.Server, o podgc.Options) {
	g := &podGC{w: w, server: server, o: o}
	g.Client = w.NewClient("podgc", g, store.Nodes, store.Pods)
	g.Start()
}

// OnStop implements sim.Controller.
func (g *podGC) OnStop() { g.scheduled = false }

// OnSynced implements sim.Controller.
func (g *podGC) OnSynced() {
	g.machine = podgc.New(g.o)
	g.schedule()
}

// OnChange implements sim.Controller.
func (g *podGC) OnChange(_ store.Kind, _, current store.Object) {
	if p, ok := current.(*corev1.Pod); g.scheduled || ok && !g.isCandidate(p) {
		return
	}
	g.schedule()
}

// schedule runs a collection at the next full period if there are candidates.
func (g *podGC) schedule() {
	if g.scheduled || !g.hasCandidates() {
		return
	}
	g.scheduled = true
	now := g.w.Elapsed()
	g.After(now.Truncate(podgc.Period)+podgc.Period-now, func() {
		g.scheduled = false
		g.collect()
		g.schedule()
	})
}

func (g *podGC) hasCandidates() bool {
	for _, o := range g.Cached(store.Pods) {
		if p, ok := o.(*corev1.Pod); ok && g.isCandidate(p) {
			return true
		}
	}
	return false
}

// isCandidate reports whether a pod may have to be collected now or later.
func (g *podGC) isCandidate(p *corev1.Pod) bool {
	return store.Finished(p) || p.DeletionTimestamp != nil || p.Spec.NodeName != "" && g.Node(p.Spec.NodeName) == nil
}

func (g *podGC) collect() {
	var pods []podgc.Pod
	var nodes []podgc.Node
	for _, key := range g.Keys(store.Pods) {
		pods = append(pods, conversion.PodGCPod(g.Pod(key)))
	}
	for _, name := range g.Keys(store.Nodes) {
		nodes = append(nodes, conversion.PodGCNode(g.Node(name)))
	}
	for _, r := range g.machine.Collect(g.w.Now(), pods, nodes) {
		p := g.Pod(store.Key(r.Pod.Namespace, r.Pod.Name))
		if _, exists := g.w.API().Get(store.Nodes, r.Pod.Node); p != nil && !(r.Reason == podgc.Orphan && exists) {
			g.deletePod(&r, p)
		}
	}
}

// deletePod deletes a pod immediately. A pod that has not finished and whose node was deleted is
// displaced.
func (g *podGC) deletePod(r *podgc.Removal, p *corev1.Pod) {
	grace, key := int64(0), store.KeyOf(p)
	if r.Reason == podgc.Orphan && !r.Pod.Finished {
		g.server.Displace(g.Client, displacement.Displacement{Pod: p, Grace: &grace, MarkFailed: true, Message: "is garbage-collected: " + r.Reason.String(),
			Record: enginedisplacement.Record{Cause: enginedisplacement.PodGC, Victim: g.w.Model(p), Node: p.Spec.NodeName, Grace: &grace,
				Rule: "node " + r.Pod.Node + " not seen since " + r.NodeMissingSince.UTC().Format(time.RFC3339)}}, func(error) {})
		return
	}
	g.Request(sim.RequestDelete, key, func() error {
		err := g.w.API().DeletePod(key, store.Precondition{UID: string(p.UID)}, &grace)
		if err == nil {
			g.w.Log("podgc", "collect", key, key+" is garbage-collected: "+r.Reason.String())
		}
		return err
	}, nil)
}
