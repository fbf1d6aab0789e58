package garbagecollector

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

// discoveryInterval is the interval between two discoveries of resources.
const discoveryInterval = 30 * time.Second

// definitionDelay is the time between a change of a CustomResourceDefinition and the discovery of its resource. The API
// server serves the resource within this time, and the changes of several definitions cause one discovery.
const definitionDelay = time.Second

// definitions is the resource whose objects define other resources.
var definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// listTimeout bounds the wait for the first list of a resource, which may be forbidden. listPollInterval is the interval
// at which the collector checks whether resources are listed.
const (
	listTimeout      = 30 * time.Second
	listPollInterval = 100 * time.Millisecond
)

// startRetryInterval is the interval between two discoveries until one succeeds: the API server may not be up yet.
const startRetryInterval = time.Second

// monitoredResource is a resource whose objects can be owners or dependents.
type monitoredResource struct {
	schema.GroupVersionResource
	kind       schema.GroupKind
	namespaced bool
}

// discoverResources returns the resources that can be watched and deleted, by group and kind. With an error the
// result is partial.
func discoverResources(resources Resources) (map[schema.GroupKind]monitoredResource, error) {
	lists, err := resources()
	out := map[schema.GroupKind]monitoredResource{}
	for _, list := range lists {
		gv, e := schema.ParseGroupVersion(list.GroupVersion)
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if strings.Contains(r.Name, "/") || !sets.New(r.Verbs...).HasAll("delete", "get", "list", "patch", "watch") {
				continue
			}
			gk := schema.GroupKind{Group: gv.Group, Kind: r.Kind}
			if gk.Kind == "Event" && (gk.Group == "" || gk.Group == "events.k8s.io") {
				continue // too many, short-lived, and never dependents
			}
			if _, exists := out[gk]; !exists {
				out[gk] = monitoredResource{gv.WithResource(r.Name), gk, r.Namespaced}
			}
		}
	}
	return out, err
}

// trimMetadata keeps only the metadata that the graph uses.
func trimMetadata(obj any) (any, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return obj, nil // a tombstone
	}
	out := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(), ResourceVersion: m.GetResourceVersion(),
		OwnerReferences: m.GetOwnerReferences(), Finalizers: m.GetFinalizers(), DeletionTimestamp: m.GetDeletionTimestamp(),
	}}
	return out, nil
}

// discover starts and stops monitors, because the served resources change. It is called periodically, after changes of
// definitions, and more often while new monitors list their resources. ctx ends with the process.
func (gc *garbageCollector) discover(ctx context.Context, _ struct{}) (time.Duration, error) {
	now := gc.env.Now()
	if gc.isDiscoveryDue(now) {
		if err := gc.syncMonitors(ctx); err != nil {
			gc.log.Error(err, "Failed to discover resources; retrying")
			if !gc.ready.Load() {
				gc.discoverBy(now.Add(startRetryInterval))
				return startRetryInterval, nil
			}
		}
		gc.listDeadline = now.Add(listTimeout)
	}
	if n := gc.countUnlisted(); n > 0 && !gc.listDeadline.IsZero() {
		if now.Before(gc.listDeadline) {
			return listPollInterval, nil
		}
		gc.log.Info("Some resources cannot be listed; their objects are read on demand", "kinds", n)
	}
	gc.listDeadline = time.Time{}
	gc.removeStale()
	if !gc.ready.Swap(true) {
		for _, o := range gc.graph.all() {
			gc.queue.Add(o.uid)
		}
	}
	return gc.untilDiscovery(), nil
}

// isDiscoveryDue reports whether resources must be discovered now. If so, it schedules the next discovery after
// discoveryInterval.
func (gc *garbageCollector) isDiscoveryDue(now time.Time) bool {
	gc.mu.Lock()
	defer gc.mu.Unlock()
	if now.Before(gc.nextDiscovery) {
		return false
	}
	gc.nextDiscovery = now.Add(discoveryInterval)
	return true
}

// discoverBy makes the next discovery happen at the given time at the latest.
func (gc *garbageCollector) discoverBy(at time.Time) {
	gc.mu.Lock()
	defer gc.mu.Unlock()
	if at.Before(gc.nextDiscovery) {
		gc.nextDiscovery = at
	}
}

// untilDiscovery returns the time until the next discovery.
func (gc *garbageCollector) untilDiscovery() time.Duration {
	gc.mu.Lock()
	defer gc.mu.Unlock()
	return max(gc.nextDiscovery.Sub(gc.env.Now()), 1)
}

// monitor is the watch of one resource.
type monitor struct {
	resource     monitoredResource
	informer     cache.SharedIndexInformer
	synced       cache.InformerSynced
	stop         func()
	isNew        bool // started since the last discovery
	staleRemoved bool // whether the objects that were deleted while it was not watched have been removed from the graph
}

// syncMonitors starts monitors for new resources and preferred versions, and stops those of resources that are no
// longer served.
func (gc *garbageCollector) syncMonitors(ctx context.Context) error {
	resources, err := discoverResources(gc.resources)
	if len(resources) == 0 && err != nil {
		return err
	}
	if err == nil {
		gc.stopMonitors(resources)
	}
	for _, gk := range slices.SortedFunc(maps.Keys(resources), func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) }) {
		if previous, exists := gc.resourceFor(gk); exists && previous == resources[gk] {
			continue
		}
		if err := gc.startMonitor(ctx, resources[gk]); err != nil {
			return err
		}
	}
	return nil
}

// countUnlisted returns the number of monitors started since the last discovery that have not listed their resource.
func (gc *garbageCollector) countUnlisted() (n int) {
	gc.mu.Lock()
	defer gc.mu.Unlock()
	for _, mon := range gc.monitors {
		if mon.isNew && !mon.synced() {
			n++
		}
	}
	return n
}

// stopMonitors stops the monitors of resources that are no longer served. Their objects stay in the graph until the
// resources are served again.
func (gc *garbageCollector) stopMonitors(resources map[schema.GroupKind]monitoredResource) {
	gc.mu.Lock()
	defer gc.mu.Unlock()
	for gk, mon := range gc.monitors {
		if _, exists := resources[gk]; !exists {
			mon.stop()
			delete(gc.monitors, gk)
		}
	}
}

// startMonitor adds the objects of a resource to the graph. It replaces the monitor of another version.
func (gc *garbageCollector) startMonitor(ctx context.Context, res monitoredResource) error {
	ctx, cancel := context.WithCancel(ctx)
	informer, start := gc.informers(res.GroupVersionResource)
	mon := &monitor{resource: res, informer: informer, stop: cancel, isNew: true}
	gc.mu.Lock()
	defer gc.mu.Unlock()
	if previous := gc.monitors[res.kind]; previous != nil {
		previous.stop()
	}
	registration, err := mon.informer.AddEventHandler(gc.handler(ctx, res))
	if err != nil {
		cancel()
		return err
	}
	mon.synced, gc.monitors[res.kind] = registration.HasSynced, mon
	start(ctx)
	return nil
}

// removeStale removes objects that were deleted while their resource was not watched, once for each monitor
// after its first sync.
func (gc *garbageCollector) removeStale() {
	listed := gc.newlySynced()
	if len(listed) == 0 {
		return
	}
	observed := gc.graph.all() // read before the stores: an object added in between is not removed
	existing := map[schema.GroupKind]map[types.UID]bool{}
	for _, mon := range listed {
		uids := map[types.UID]bool{}
		for _, o := range mon.informer.GetStore().List() {
			if m, err := meta.Accessor(o); err == nil {
				uids[m.GetUID()] = true
			}
		}
		existing[mon.resource.kind] = uids
	}
	for _, o := range observed {
		if uids, ok := existing[o.kind]; ok && !uids[o.uid] {
			gc.enqueue(gc.graph.remove(o.uid))
		}
	}
}

// newlySynced returns the monitors that have synced since the last call.
func (gc *garbageCollector) newlySynced() (out []*monitor) {
	gc.mu.Lock()
	defer gc.mu.Unlock()
	for _, mon := range gc.monitors {
		mon.isNew = false
		if !mon.staleRemoved && mon.synced() {
			mon.staleRemoved = true
			out = append(out, mon)
		}
	}
	return out
}

// handler updates the graph until ctx is done.
func (gc *garbageCollector) handler(ctx context.Context, res monitoredResource) cache.ResourceEventHandler {
	changed := func() {
		if res.GroupResource() == definitions {
			gc.discoverBy(gc.env.Now().Add(definitionDelay))
			gc.discoveryQueue.AddAfter(struct{}{}, definitionDelay)
		}
	}
	upsert := func(obj any) {
		changed()
		if m, err := meta.Accessor(obj); err == nil && ctx.Err() == nil {
			gc.enqueue(gc.graph.upsert(newObject(res.GroupVersionResource, res.kind, m)))
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    upsert,
		UpdateFunc: func(_, obj any) { upsert(obj) },
		DeleteFunc: func(obj any) {
			changed()
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			if m, err := meta.Accessor(obj); err == nil && ctx.Err() == nil {
				gc.enqueue(gc.graph.remove(m.GetUID()))
			}
		},
	}
}

// enqueue enqueues objects. It does nothing until all resources are listed: discover then enqueues all objects.
func (gc *garbageCollector) enqueue(uids []types.UID) {
	if !gc.ready.Load() {
		return
	}
	for _, uid := range uids {
		gc.queue.Add(uid)
	}
}

func (gc *garbageCollector) resourceFor(gk schema.GroupKind) (monitoredResource, bool) {
	gc.mu.Lock()
	defer gc.mu.Unlock()
	if mon := gc.monitors[gk]; mon != nil {
		return mon.resource, true
	}
	return monitoredResource{}, false
}
