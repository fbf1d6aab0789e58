package garbagecollector

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/lru"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
)

const (
	workers = 10
	// component is the upstream source of the events.
	component = "garbage-collector-controller"
	// absentOwnerCacheSize is the size of the cache of owners that do not exist.
	absentOwnerCacheSize = 500
	// orphanGracePeriod is how long to wait after an owner's deletion for dependents that are
	// not in the cache yet. Otherwise they would be deleted, since their owner does not exist.
	orphanGracePeriod = time.Second
)

// garbageCollector deletes dependents. The queue key is an object's UID.
type garbageCollector struct {
	env            runner.Environment
	metadata       metadata.Interface
	resources      Resources
	informers      Informers
	events         record.EventRecorder
	graph          *graph
	queue          runner.Queue[types.UID]
	discoveryQueue runner.Queue[struct{}]
	absentOwners   *lru.Cache // owners that do not exist according to the API server
	log            klog.Logger
	// ready reports whether the resources have been listed once. Until then, nothing is collected.
	ready atomic.Bool

	mu            sync.Mutex
	monitors      map[schema.GroupKind]*monitor
	nextDiscovery time.Time
	listDeadline  time.Time  // until when the new monitors may list; zero: all have listed
	reported      *lru.Cache // references for which an event was recorded
}

// Resources returns the served resources in their preferred versions. With an error the result is partial.
type Resources func() ([]*metav1.APIResourceList, error)

// Informers returns an informer of the metadata of a resource, and the function that starts it.
type Informers func(schema.GroupVersionResource) (informer cache.SharedIndexInformer, start func(context.Context))

// Run collects garbage until ctx is done; see workqueue.Run and Add.
func Run(ctx context.Context, p runner.Process, objects metadata.Interface) error {
	shared := map[schema.GroupVersionResource]cache.SharedIndexInformer{
		corev1.SchemeGroupVersion.WithResource("pods"):          p.Informers.Core().V1().Pods().Informer(),
		{Group: "apps", Version: "v1", Resource: "replicasets"}: p.Informers.Apps().V1().ReplicaSets().Informer(),
	}
	resources := func() ([]*metav1.APIResourceList, error) {
		return discovery.ServerPreferredResources(p.Client.Discovery())
	}
	return workqueue.Run(ctx, p, component, func(p *runner.Process) error {
		Add(p, objects, resources, metadataInformers(objects, shared))
		return nil
	})
}

// metadataInformers returns shared informers, and for other resources informers of their metadata.
func metadataInformers(objects metadata.Interface, shared map[schema.GroupVersionResource]cache.SharedIndexInformer) Informers {
	return func(r schema.GroupVersionResource) (cache.SharedIndexInformer, func(context.Context)) {
		if i := shared[r]; i != nil {
			return i, func(context.Context) {}
		}
		factory := metadatainformer.NewSharedInformerFactoryWithOptions(objects, 0, metadatainformer.WithTransform(trimMetadata))
		return factory.ForResource(r).Informer(), func(ctx context.Context) { factory.Start(ctx.Done()) }
	}
}

// Add adds the controller to a process. objects reads and patches metadata of all kinds.
func Add(p *runner.Process, objects metadata.Interface, resources Resources, i Informers) {
	gc := &garbageCollector{
		env: p.Environment, metadata: objects, resources: resources, informers: i, events: p.Events, graph: newGraph(), log: p.Log,
		absentOwners: lru.New(absentOwnerCacheSize), reported: lru.New(absentOwnerCacheSize), monitors: map[schema.GroupKind]*monitor{},
	}
	gc.queue = runner.NewQueue(p, runner.QueueOptions{Name: "garbage_collector_attempt_to_delete", Action: "Collecting garbage", Workers: workers}, gc.sync)
	gc.discoveryQueue = runner.NewQueue(p, runner.QueueOptions{Workers: 1}, gc.discover)
	gc.discoveryQueue.Add(struct{}{})
}

// sync orphans the dependents of an object, waits for their deletion, or deletes the object if its owners do
// not exist.
func (gc *garbageCollector) sync(ctx context.Context, uid types.UID) (requeueAfter time.Duration, err error) {
	o, dependents := gc.graph.get(uid)
	switch {
	case o == nil:
		return 0, nil
	case o.orphans:
		if remaining := o.deletionTime.Add(orphanGracePeriod).Sub(gc.env.Now()); remaining > 0 {
			return remaining, nil
		}
		return 0, gc.orphanDependents(ctx, o, dependents)
	case o.foreground:
		return 0, gc.processDeletingDependents(ctx, o, dependents)
	case o.deleting || len(o.owners) == 0:
		return 0, nil
	}
	return 0, gc.attemptToDelete(ctx, o, dependents)
}
