package nodelifecycle

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	coordinationlisters "k8s.io/client-go/listers/coordination/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/control/loop"
	"github.com/berthproject/berth/engine/nodehealth"
)

const (
	// workers is how many nodes, and how many pods, are written at once.
	workers = 32
	// pause is how long events are gathered before they are looked at.
	pause = 50 * time.Millisecond
	// component is the name under which Kubernetes reports the same events.
	component = "node-controller"
)

// health carries the machine's effects out.
type health struct {
	client kubernetes.Interface
	nodes  corelisters.NodeLister
	leases coordinationlisters.LeaseNamespaceLister
	pods   cache.Indexer
	events record.EventRecorder
	steps  *loop.Stepper[nodehealth.Event]
	writes *loop.Loop[key]
	unfit  *loop.Loop[podKey]
	counts *counts
	log    klog.Logger

	mu     sync.Mutex
	orders map[key]nodehealth.Effect // that are under way
}

// key names a write about a node: of its taints, or else of its conditions.
type key struct {
	node   string
	taints bool
}

type podKey struct{ namespace, name string }

// byNode is the index of pods by their node.
const byNode = "nodelifecycle-node"

// Run looks after nodes until ctx ends. factory, which is started here if it is not yet, supplies nodes and pods;
// metrics, which may be nil, shows what is counted. An error means that it could not start.
func Run(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, o nodehealth.Options, metrics prometheus.Registerer, log klog.Logger) error {
	own := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(corev1.NamespaceNodeLease), informers.WithTransform(lean))
	pods, nodes, leases := factory.Core().V1().Pods(), factory.Core().V1().Nodes(), own.Coordination().V1().Leases()
	counts, err := newCounts(metrics)
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	h := &health{
		client: client, nodes: nodes.Lister(), leases: leases.Lister().Leases(corev1.NamespaceNodeLease), pods: pods.Informer().GetIndexer(),
		events: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}),
		steps:  loop.NewStepper[nodehealth.Event](), counts: counts, log: log, orders: map[key]nodehealth.Effect{},
	}
	h.writes = loop.New("node_lifecycle_controller", "Writing the node", log, h.write)
	h.unfit = loop.New("node_lifecycle_controller_pods", "Marking the pod not ready", log, h.unready)
	if err := pods.Informer().AddIndexers(cache.Indexers{byNode: nodeOf}); err != nil {
		return err
	}
	if err := h.watch(nodes.Informer(), pods.Informer(), leases.Informer()); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	own.Start(ctx.Done())
	defer own.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), nodes.Informer().HasSynced, pods.Informer().HasSynced, leases.Informer().HasSynced) {
		return nil
	}
	h.run(ctx, nodehealth.New(o, time.Now()))
	return nil
}

// run steps the machine until ctx ends.
func (h *health) run(ctx context.Context, machine *nodehealth.Machine) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { h.writes.Run(ctx, workers) })
	wg.Go(func() { h.unfit.Run(ctx, workers) })
	allDown, due := false, time.Time{}
	h.steps.Run(ctx, pause, func(now time.Time, events []nodehealth.Event) time.Time {
		began := time.Now()
		effects, wake := machine.Step(now, events)
		for _, e := range effects {
			h.order(e)
		}
		zones, down := machine.Zones()
		h.counts.stepped(zones, due, began)
		due = wake
		if down != allDown {
			allDown = down
			h.log.Info("Whether all nodes are lost has changed; while they are, no pod is driven out", "lost", down, "zones", len(zones))
		}
		return wake
	})
}

// lean drops what is not read of a Lease.
func lean(obj any) (any, error) {
	if l, ok := obj.(*coordinationv1.Lease); ok {
		l.ManagedFields, l.OwnerReferences, l.Labels, l.Annotations = nil, nil, nil, nil
	}
	return obj, nil
}

func nodeOf(obj any) ([]string, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok || p.Spec.NodeName == "" {
		return nil, nil
	}
	return []string{p.Spec.NodeName}, nil
}

// order has an effect carried out.
func (h *health) order(e nodehealth.Effect) {
	var k key
	switch e := e.(type) {
	case nodehealth.MarkUnknown:
		k = key{e.Node, false}
	case nodehealth.Retaint:
		k = key{e.Node, true}
	}
	h.mu.Lock()
	h.orders[k] = e
	h.mu.Unlock()
	h.writes.Add(k)
}
