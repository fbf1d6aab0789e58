package controllers

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/controllers/displacementrecords"
	"github.com/berthproject/berth/controllers/disruption"
	"github.com/berthproject/berth/controllers/endpoints"
	"github.com/berthproject/berth/controllers/garbagecollector"
	"github.com/berthproject/berth/controllers/nodelifecycle"
	"github.com/berthproject/berth/controllers/podgc"
	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/tainteviction"
	"github.com/berthproject/berth/controllers/volume"
	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	enginenodelifecycle "github.com/berthproject/berth/engine/nodelifecycle"
	enginepodgc "github.com/berthproject/berth/engine/podgc"
	enginetaints "github.com/berthproject/berth/engine/tainteviction"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/reconciler"
	"github.com/berthproject/berth/sim/store"
)

// StartDisruption starts the disruption controller. scales returns the scale of owners that are not workloads in the
// store.
func StartDisruption(w *sim.World, scales disruption.Scales) {
	reconciler.Start(w, "disruption", func(p *reconciler.Process) error {
		p.Events = p.StoredEvents("controllermanager")
		return disruption.Add(&p.Process, scales)
	}, store.ReplicationControllers, store.Deployments, store.ReplicaSets, store.StatefulSets, store.PodDisruptionBudgets, store.Pods)
}

// TaintEvictionOptions configure the taint eviction controller.
type TaintEvictionOptions struct {
	enginetaints.Options
	// SkipBudgets makes evictions add no entries to budgets, as upstream.
	SkipBudgets bool
}

// StartTaintEviction starts the taint eviction controller.
func StartTaintEviction(w *sim.World, o TaintEvictionOptions) {
	kinds := []store.Kind{store.Nodes, store.Pods}
	if !o.SkipBudgets {
		kinds = append(kinds, store.PodDisruptionBudgets)
	}
	reconciler.Start(w, "taints", func(p *reconciler.Process) error {
		p.Events = cancelEvents{p.StoredEvents(tainteviction.Component), w}
		if o.SkipBudgets {
			p.Factory.Ignore(store.PodDisruptionBudgets) // as without the permission to read them
		}
		return tainteviction.Add(&p.Process, newDisplacer(&p.Process, tainteviction.Component), o.Options, nil)
	}, kinds...)
}

// cancelEvents logs the events of the taint eviction controller, which records only that an eviction is canceled.
type cancelEvents struct {
	record.EventRecorder
	w *sim.World
}

// Eventf implements record.EventRecorder.
func (c cancelEvents) Eventf(o runtime.Object, eventType, reason, format string, values ...any) {
	c.EventRecorder.Eventf(o, eventType, reason, format, values...)
	if p, ok := o.(store.Object); ok {
		c.w.Log("taints", "cancel", store.KeyOf(p), store.KeyOf(p)+" is no longer being evicted")
	}
}

// newDisplacer returns the displacer of a controller.
func newDisplacer(p *runner.Process, component string) *displacer.Displacer {
	return &displacer.Displacer{Client: p.Client, Now: p.Now, Component: component, Instance: component + "-" + p.Host}
}

// StartNodeLifecycle starts the node lifecycle controller. The controller pauses while quiet
// returns true.
func StartNodeLifecycle(w *sim.World, quiet func() bool, o enginenodelifecycle.Options) {
	reconciler.Start(w, "nodelifecycle", func(p *reconciler.Process) error {
		p.Quiet = quiet
		return nodelifecycle.Add(&p.Process, p.Informers.Coordination().V1().Leases(), o, nil)
	}, store.Leases, store.Nodes, store.Pods)
}

// StartPodGC starts the pod garbage collector.
func StartPodGC(w *sim.World, o enginepodgc.Options) {
	reconciler.Start(w, "podgc", func(p *reconciler.Process) error {
		return podgc.Add(&p.Process, newDisplacer(&p.Process, podgc.Component), o, nil)
	}, store.Nodes, store.Pods)
}

// StartRecords starts the controller of displacement records. It creates no Avoid Holds if backoff.First is 0.
func StartRecords(w *sim.World, backoff enginedisplacement.Backoff) *sim.Client {
	return reconciler.Start(w, "records", func(p *reconciler.Process) error {
		return displacementrecords.Add(&p.Process, p.Factory.Informer(store.Events), displacementrecords.Options{Holds: p.Holds, Backoff: backoff})
	}, store.Nodes, store.Events, store.Pods)
}

// StartVolumes starts the volume controller, and a provisioner of all classes.
func StartVolumes(w *sim.World) {
	reconciler.Start(w, "volumes", func(p *reconciler.Process) error {
		return errors.Join(volume.Add(&p.Process), addProvisioner(&p.Process))
	}, store.StorageClasses, store.PersistentVolumes, store.PersistentVolumeClaims)
}

// StartEndpoints starts the controller of EndpointSlices and Endpoints.
func StartEndpoints(w *sim.World) {
	reconciler.Start(w, "endpoints", func(p *reconciler.Process) error {
		return endpoints.Add(&p.Process, p.Informers.Core().V1().Endpoints())
	}, store.Nodes, store.Services, store.Endpoints, store.EndpointSlices, store.Pods)
}

// collectedKinds are the kinds that the garbage collector watches: owners and dependents.
var collectedKinds = []store.Kind{store.Nodes, store.Deployments, store.StatefulSets, store.DaemonSets, store.ReplicaSets, store.ControllerRevisions, store.ConfigMaps, store.Secrets,
	store.Services, store.ServiceAccounts, store.PersistentVolumeClaims, store.PodDisruptionBudgets, store.EndpointSlices, store.Pods}

// StartGarbageCollector starts the garbage collector.
func StartGarbageCollector(w *sim.World) {
	reconciler.Start(w, "garbagecollector", func(p *reconciler.Process) error {
		garbagecollector.Add(&p.Process, p.Metadata, func() ([]*metav1.APIResourceList, error) { return store.Resources(collectedKinds...), nil },
			func(r schema.GroupVersionResource) (cache.SharedIndexInformer, func(context.Context)) {
				return p.Factory.Informer(store.Kind(r.Resource)), func(context.Context) {}
			})
		return nil
	}, collectedKinds...)
}
