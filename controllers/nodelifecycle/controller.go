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

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/engine/nodelifecycle"
)

const (
	// workers is the number of concurrent writes, for nodes and for pods.
	workers = 32
	// batchDelay is how long events are collected before a step.
	batchDelay = 50 * time.Millisecond
	// component is the upstream source of the events.
	component = "node-controller"
)

// controller executes the effects of the machine.
type controller struct {
	env       runner.Environment
	client    kubernetes.Interface
	nodes     corelisters.NodeLister
	leases    coordinationlisters.LeaseNamespaceLister
	pods      cache.Indexer
	events    record.EventRecorder
	stepper   *workqueue.Stepper[nodelifecycle.Event]
	nodeQueue *workqueue.Queue[writeKey]
	podQueue  *workqueue.Queue[podKey]
	metrics   *nodeMetrics
	log       klog.Logger

	mu      sync.Mutex
	pending map[writeKey]nodelifecycle.Effect // effects in flight
}

// writeKey identifies a write to a node: to its taints or to its conditions.
type writeKey struct {
	node   string
	taints bool
}

type podKey struct{ namespace, name string }

// byNode is the index of pods by node.
const byNode = "nodelifecycle-node"

// Run manages nodes until ctx is done. It starts factory, which supplies nodes and pods. Metrics are registered with
// registerer, which may be nil. Run returns an error only if it cannot start.
func Run(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, o nodelifecycle.Options, registerer prometheus.Registerer, env runner.Environment, log klog.Logger) error {
	leaseFactory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(corev1.NamespaceNodeLease), informers.WithTransform(trimLease))
	pods, nodes, leases := factory.Core().V1().Pods(), factory.Core().V1().Nodes(), leaseFactory.Coordination().V1().Leases()
	metrics, err := newMetrics(registerer)
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	h := &controller{
		env: env, client: client, nodes: nodes.Lister(), leases: leases.Lister().Leases(corev1.NamespaceNodeLease), pods: pods.Informer().GetIndexer(),
		events:  broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}),
		stepper: workqueue.NewStepper[nodelifecycle.Event](env), metrics: metrics, log: log, pending: map[writeKey]nodelifecycle.Effect{},
	}
	h.nodeQueue = workqueue.New(ctx, "node_lifecycle_controller", "Writing the node", log, h.write)
	h.podQueue = workqueue.New(ctx, "node_lifecycle_controller_pods", "Marking the pod not ready", log, h.markPodNotReady)
	if err := pods.Informer().AddIndexers(cache.Indexers{byNode: indexByNode}); err != nil {
		return err
	}
	if err := h.watch(nodes.Informer(), pods.Informer(), leases.Informer()); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	leaseFactory.Start(ctx.Done())
	defer leaseFactory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), nodes.Informer().HasSynced, pods.Informer().HasSynced, leases.Informer().HasSynced) {
		return nil
	}
	h.run(ctx, nodelifecycle.New(o, env.Now()))
	return nil
}

// run steps the machine and writes its effects until ctx is done.
func (h *controller) run(ctx context.Context, machine *nodelifecycle.Machine) {
	runner.Concurrently(
		func() { h.nodeQueue.Run(ctx, workers) },
		func() { h.podQueue.Run(ctx, workers) },
		func() { h.stepUntilDone(ctx, machine) })
}

// stepUntilDone steps the machine and dispatches its effects.
func (h *controller) stepUntilDone(ctx context.Context, machine *nodelifecycle.Machine) {
	fullDisruption, due := false, time.Time{}
	h.stepper.Run(ctx, batchDelay, func(now time.Time, events []nodelifecycle.Event) time.Time {
		start := h.env.Now()
		effects, wake := machine.Step(now, events)
		for _, e := range effects {
			h.dispatch(e)
		}
		zones, active := machine.Zones()
		h.metrics.observeStep(zones, due, start, h.env.Since(start))
		due = wake
		if active != fullDisruption {
			fullDisruption = active
			h.log.Info("Full disruption mode changed; no pods are evicted while all nodes are not ready", "active", active, "zones", len(zones))
		}
		return wake
	})
}

// trimLease removes the unused fields of a Lease.
func trimLease(obj any) (any, error) {
	if l, ok := obj.(*coordinationv1.Lease); ok {
		l.ManagedFields, l.OwnerReferences, l.Labels, l.Annotations = nil, nil, nil, nil
	}
	return obj, nil
}

func indexByNode(obj any) ([]string, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok || p.Spec.NodeName == "" {
		return nil, nil
	}
	return []string{p.Spec.NodeName}, nil
}

// dispatch starts the execution of an effect.
func (h *controller) dispatch(e nodelifecycle.Effect) {
	var k writeKey
	switch e := e.(type) {
	case nodelifecycle.MarkUnknown:
		k = writeKey{e.Node, false}
	case nodelifecycle.UpdateTaints:
		k = writeKey{e.Node, true}
	}
	h.mu.Lock()
	h.pending[k] = e
	h.mu.Unlock()
	h.nodeQueue.Add(k)
}
