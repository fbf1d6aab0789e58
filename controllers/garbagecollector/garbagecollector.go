package garbagecollector

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/lru"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workload"
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
	env          runner.Environment
	metadata     metadata.Interface
	discovery    discovery.DiscoveryInterface
	shared       map[schema.GroupVersionResource]cache.SharedIndexInformer
	events       record.EventRecorder
	graph        *graph
	queue        *workqueue.Queue[types.UID]
	absentOwners *lru.Cache // owners that do not exist according to the API server
	log          klog.Logger
	// definitionsChanged has capacity 1 and signals a change of CustomResourceDefinitions.
	definitionsChanged chan struct{}

	mu       sync.Mutex
	monitors map[schema.GroupKind]*monitor
	reported *lru.Cache // references for which an event was recorded
}

// Run collects garbage until ctx is done. objects reads and patches metadata of all kinds. Run starts factory, which
// supplies pods and ReplicaSets. It returns an error only if it cannot start.
func Run(ctx context.Context, client kubernetes.Interface, objects metadata.Interface, factory informers.SharedInformerFactory, env runner.Environment, log klog.Logger) error {
	events, stop := workload.NewEventRecorder(ctx, client, component)
	defer stop()
	gc := &garbageCollector{
		env:      env,
		metadata: objects, discovery: client.Discovery(), events: events, graph: newGraph(), absentOwners: lru.New(absentOwnerCacheSize), reported: lru.New(absentOwnerCacheSize), log: log,
		monitors: map[schema.GroupKind]*monitor{}, definitionsChanged: make(chan struct{}, 1),
		shared: map[schema.GroupVersionResource]cache.SharedIndexInformer{
			corev1.SchemeGroupVersion.WithResource("pods"):          factory.Core().V1().Pods().Informer(),
			{Group: "apps", Version: "v1", Resource: "replicasets"}: factory.Apps().V1().ReplicaSets().Informer(),
		},
	}
	gc.queue = workqueue.New(ctx, "garbage_collector_attempt_to_delete", "Collecting garbage", log, gc.sync)
	factory.Start(ctx.Done())
	for gc.syncMonitors(ctx) != nil { // the API server may not be up yet
		if !runner.Sleep(ctx, env, time.Second) {
			return nil
		}
	}
	runner.Concurrently(func() { gc.rediscover(ctx) }, func() { gc.queue.Run(ctx, workers) })
	return nil
}

// sync orphans the dependents of an object, waits for them, or deletes the object if its owners do not exist.
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
