package garbage

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

	"github.com/berthproject/berth/control/loop"
	"github.com/berthproject/berth/control/workload"
)

const (
	workers = 10
	// component is the name under which Kubernetes reports the same events.
	component = "garbage-collector-controller"
	// absentees is how many owners are remembered that the API server did not have.
	absentees = 500
	// settle is how long after the start of an owner's deletion dependents are waited for that
	// the watches have not shown yet: they would not be let go, but be found without an owner.
	settle = time.Second
)

// collector deletes what is left over, one key an object.
type collector struct {
	metadata  metadata.Interface
	discovery discovery.DiscoveryInterface
	shared    map[schema.GroupVersionResource]cache.SharedIndexInformer
	events    record.EventRecorder
	graph     *graph
	loop      *loop.Loop[types.UID]
	absent    *lru.Cache // owners that are not there, as the API server said
	log       klog.Logger

	mu    sync.Mutex
	kinds map[schema.GroupKind]*watched
	told  *lru.Cache // references of which an event was written
}

// Run collects garbage until ctx ends. objects reads and changes metadata of all kinds; factory (started
// here if it is not yet) supplies pods and ReplicaSets, which others read too. It returns an error only if it could not start.
func Run(ctx context.Context, client kubernetes.Interface, objects metadata.Interface, factory informers.SharedInformerFactory, log klog.Logger) error {
	events, stop := workload.Recorder(ctx, client, component)
	defer stop()
	l := &collector{
		metadata: objects, discovery: client.Discovery(), events: events, graph: newGraph(), absent: lru.New(absentees), told: lru.New(absentees), log: log,
		kinds: map[schema.GroupKind]*watched{},
		shared: map[schema.GroupVersionResource]cache.SharedIndexInformer{
			corev1.SchemeGroupVersion.WithResource("pods"):          factory.Core().V1().Pods().Informer(),
			{Group: "apps", Version: "v1", Resource: "replicasets"}: factory.Apps().V1().ReplicaSets().Informer(),
		},
	}
	l.loop = loop.New("garbage_collector_attempt_to_delete", "Looking at the object's owners", log, l.sync)
	factory.Start(ctx.Done())
	for l.follow(ctx) != nil { // the API server may not be up yet
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
	l.loop.Run(ctx, workers)
	return nil
}

// sync looks at one object.
func (l *collector) sync(ctx context.Context, uid types.UID) (again time.Duration, err error) {
	o, dependents := l.graph.get(uid)
	switch {
	case o == nil:
		return 0, nil
	case o.orphans:
		if early := time.Until(o.since.Add(settle)); early > 0 {
			return early, nil
		}
		return 0, l.letGo(ctx, o, dependents)
	case o.foreground:
		return 0, l.wait(ctx, o, dependents)
	case o.deleting || len(o.owners) == 0:
		return 0, nil
	}
	return 0, l.judge(ctx, o, dependents)
}
