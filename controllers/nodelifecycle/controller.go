package nodelifecycle

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	coordinationinformers "k8s.io/client-go/informers/coordination/v1"
	"k8s.io/client-go/kubernetes"
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
	machine   *runner.Machine[nodelifecycle.Event]
	nodeQueue runner.Queue[writeKey]
	podQueue  runner.Queue[podKey]
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

// Run manages nodes until ctx is done; see workqueue.Run and Add.
func Run(ctx context.Context, p runner.Process, o nodelifecycle.Options, registerer prometheus.Registerer) error {
	factory := informers.NewSharedInformerFactoryWithOptions(p.Client, 0, informers.WithNamespace(corev1.NamespaceNodeLease), informers.WithTransform(trimLease))
	defer factory.Shutdown()
	return workqueue.Run(ctx, p, component, func(p *runner.Process) error { return Add(p, factory.Coordination().V1().Leases(), o, registerer) }, factory)
}

// Add adds the controller to a process. leases must supply the Leases of nodes. Metrics are registered with
// registerer, which may be nil.
func Add(p *runner.Process, leases coordinationinformers.LeaseInformer, o nodelifecycle.Options, registerer prometheus.Registerer) error {
	pods, nodes := p.Informers.Core().V1().Pods(), p.Informers.Core().V1().Nodes()
	metrics, err := newMetrics(registerer)
	if err != nil {
		return err
	}
	c := &controller{
		env: p.Environment, client: p.Client, nodes: nodes.Lister(), leases: leases.Lister().Leases(corev1.NamespaceNodeLease), pods: pods.Informer().GetIndexer(),
		events: p.Events, metrics: metrics, log: p.Log, pending: map[writeKey]nodelifecycle.Effect{},
	}
	c.machine = runner.NewMachine(p, batchDelay, c.newStep(o))
	c.nodeQueue = runner.NewQueue(p, runner.QueueOptions{Name: "node_lifecycle_controller", Action: "Writing the node", Workers: workers}, c.write)
	c.podQueue = runner.NewQueue(p, runner.QueueOptions{Name: "node_lifecycle_controller_pods", Action: "Marking the pod not ready", Workers: workers}, c.markPodNotReady)
	p.Queues.WaitFor(nodes.Informer().HasSynced, pods.Informer().HasSynced, leases.Informer().HasSynced)
	if err := pods.Informer().AddIndexers(cache.Indexers{byNode: indexByNode}); err != nil {
		return err
	}
	return c.watch(nodes.Informer(), pods.Informer(), leases.Informer())
}

// newStep returns a function that steps the machine and dispatches its effects. Its first call creates the machine.
func (c *controller) newStep(o nodelifecycle.Options) func(time.Time, []nodelifecycle.Event) time.Time {
	var machine *nodelifecycle.Machine
	fullDisruption, due := false, time.Time{}
	return func(now time.Time, events []nodelifecycle.Event) time.Time {
		if machine == nil {
			machine = nodelifecycle.New(o, now)
		}
		start := c.env.Now()
		effects, wake := machine.Step(now, events)
		for _, e := range effects {
			c.dispatch(e)
		}
		zones, active := machine.Zones()
		c.metrics.observeStep(zones, due, start, c.env.Since(start))
		due = wake
		if active != fullDisruption {
			fullDisruption = active
			c.log.Info("Full disruption mode changed; no pods are evicted while all nodes are not ready", "active", active, "zones", len(zones))
		}
		return wake
	}
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
func (c *controller) dispatch(e nodelifecycle.Effect) {
	var k writeKey
	switch e := e.(type) {
	case nodelifecycle.MarkUnknown:
		k = writeKey{e.Node, false}
	case nodelifecycle.UpdateTaints:
		k = writeKey{e.Node, true}
	}
	c.mu.Lock()
	c.pending[k] = e
	c.mu.Unlock()
	c.nodeQueue.Add(k)
}
