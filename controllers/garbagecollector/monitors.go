package garbagecollector

import (
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/controllers/runner"
)

// discoveryInterval is the interval between two discoveries of resources.
const discoveryInterval = 30 * time.Second

// definitionDelay is the time between a change of a CustomResourceDefinition and the discovery of its resource. The API
// server serves the resource within it, and the changes of several definitions cause one discovery.
const definitionDelay = time.Second

// definitions is the resource whose objects define other resources.
var definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// listTimeout bounds the wait for the first list of a resource, which may be forbidden.
const listTimeout = 30 * time.Second

// monitoredResource is a resource whose objects can be owners or dependents.
type monitoredResource struct {
	schema.GroupVersionResource
	kind       schema.GroupKind
	namespaced bool
}

// discoverResources returns the resources that can be watched and deleted, by group and kind. With an error the
// result is partial.
func discoverResources(d discovery.DiscoveryInterface) (map[schema.GroupKind]monitoredResource, error) {
	lists, err := discovery.ServerPreferredResources(d)
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

// rediscover starts and stops monitors periodically and after changes of definitions until ctx is done, since resources
// may be served later.
func (gc *garbageCollector) rediscover(ctx context.Context) {
	for gc.waitForDiscovery(ctx) {
		if err := gc.syncMonitors(ctx); err != nil {
			gc.log.Error(err, "Failed to discover resources; retrying")
		}
	}
}

// waitForDiscovery waits until resources must be discovered again. It returns false if ctx is done before.
func (gc *garbageCollector) waitForDiscovery(ctx context.Context) bool {
	timer := gc.env.NewTimer(discoveryInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	case <-gc.definitionsChanged:
		return runner.Sleep(ctx, gc.env, definitionDelay)
	}
}

// monitor is the watch of one resource.
type monitor struct {
	resource     monitoredResource
	informer     cache.SharedIndexInformer
	synced       cache.InformerSynced
	stop         func()
	staleRemoved bool // whether the objects that were deleted while it was not watched have been removed from the graph
}

// syncMonitors starts monitors for new resources and preferred versions, and stops those of resources that are not
// served any more.
func (gc *garbageCollector) syncMonitors(ctx context.Context) error {
	resources, err := discoverResources(gc.discovery)
	if len(resources) == 0 && err != nil {
		return err
	}
	if err == nil {
		gc.stopMonitors(resources)
	}
	var synced []cache.InformerSynced
	for gk, res := range resources {
		if previous, exists := gc.resourceFor(gk); exists && previous == res {
			continue
		}
		mon, err := gc.startMonitor(ctx, res)
		if err != nil {
			return err
		}
		synced = append(synced, mon.synced)
	}
	listCtx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if !cache.WaitForCacheSync(listCtx.Done(), synced...) && ctx.Err() == nil {
		gc.log.Info("Some resources cannot be listed; their objects are read on demand", "kinds", len(synced))
	}
	gc.removeStale()
	return nil
}

// stopMonitors stops the monitors of resources that are not served any more. Their objects stay in the graph until
// they are served again.
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
func (gc *garbageCollector) startMonitor(ctx context.Context, res monitoredResource) (*monitor, error) {
	ctx, cancel := context.WithCancel(ctx)
	mon := &monitor{resource: res, informer: gc.shared[res.GroupVersionResource], stop: cancel}
	factory := metadatainformer.NewSharedInformerFactoryWithOptions(gc.metadata, 0, metadatainformer.WithTransform(trimMetadata))
	if mon.informer == nil {
		mon.informer = factory.ForResource(res.GroupVersionResource).Informer()
	}
	gc.mu.Lock()
	defer gc.mu.Unlock()
	if previous := gc.monitors[res.kind]; previous != nil {
		previous.stop()
	}
	registration, err := mon.informer.AddEventHandler(gc.handler(ctx, res))
	if err != nil {
		cancel()
		return nil, err
	}
	mon.synced, gc.monitors[res.kind] = registration.HasSynced, mon
	factory.Start(ctx.Done())
	return mon, nil
}

// removeStale removes objects that were deleted while their resource was not watched, once for each monitor
// after its first sync.
func (gc *garbageCollector) removeStale() {
	listed := gc.newlySynced()
	if len(listed) == 0 {
		return
	}
	observed := gc.graph.all() // before the stores are read, so that new objects are in both
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
			select {
			case gc.definitionsChanged <- struct{}{}:
			default:
			}
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

func (gc *garbageCollector) enqueue(uids []types.UID) {
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
