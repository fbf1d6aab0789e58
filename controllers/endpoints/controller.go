package endpoints

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/metrics"
	"k8s.io/endpointslice/topologycache"
	"k8s.io/endpointslice/util"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
)

const (
	// sliceManager is the upstream value of the managed-by label of slices, so
	// that upstream's controller and this one can take over each other's slices.
	sliceManager = "endpointslice-controller.k8s.io"
	// maxEndpointsPerSlice is upstream's default.
	maxEndpointsPerSlice = 100
	workers              = 5
	// perPodDelay is the delay per pod of a Service before it is reconciled: 200 ms for 10,000 pods.
	perPodDelay = 20 * time.Microsecond
	// staleCacheDelay is the retry delay while the cache does not show the last write.
	staleCacheDelay = 20 * time.Millisecond
)

type serviceKey struct{ namespace, name string }

func (s serviceKey) String() string { return s.namespace + "/" + s.name }

// controller maintains EndpointSlices and Endpoints.
type controller struct {
	client          kubernetes.Interface
	log             klog.Logger
	queue           runner.Queue[serviceKey]
	services        corelisters.ServiceLister
	pods            corelisters.PodLister
	nodes           corelisters.NodeLister
	slices          discoverylisters.EndpointSliceLister
	endpointsLister corelisters.EndpointsLister

	reconciler *endpointslice.Reconciler
	tracker    *util.EndpointSliceTracker
	triggers   *util.TriggerTimeTracker
	zones      *topologycache.TopologyCache
	state      serviceState
}

// Run maintains EndpointSlices and Endpoints until ctx is done; see workqueue.Run. The process's client should not log
// deprecation warnings.
func Run(ctx context.Context, p runner.Process) error {
	factory := informers.NewSharedInformerFactory(p.Client, 0)
	defer factory.Shutdown()
	return workqueue.Run(ctx, p, "endpoint-slice-controller", func(p *runner.Process) error { return Add(p, factory.Core().V1().Endpoints()) }, factory)
}

// Add adds the controller to a process.
func Add(p *runner.Process, legacy coreinformers.EndpointsInformer) error {
	metrics.RegisterMetrics()
	core, endpointSlices := p.Informers.Core().V1(), p.Informers.Discovery().V1().EndpointSlices()
	c := &controller{
		client: p.Client, log: p.Log,
		services: core.Services().Lister(), pods: core.Pods().Lister(), nodes: core.Nodes().Lister(),
		slices: endpointSlices.Lister(), endpointsLister: legacy.Lister(),
		tracker: util.NewEndpointSliceTracker(), triggers: util.NewTriggerTimeTracker(), zones: topologycache.NewTopologyCache(),
	}
	c.reconciler = endpointslice.NewReconciler(p.Client, c.nodes, maxEndpointsPerSlice, c.tracker, c.zones, p.Events, sliceManager,
		endpointslice.WithPreferSameTrafficDistributionEnabled(true))
	c.queue = runner.NewQueue(p, runner.QueueOptions{Name: "endpoint_slice", Action: "Writing the endpoints", Workers: workers}, c.sync)
	m := &mirrorController{client: p.Client, services: c.services, endpointsLister: c.endpointsLister, slices: c.slices, tracker: util.NewEndpointSliceTracker()}
	m.queue = runner.NewQueue(p, runner.QueueOptions{Name: "endpoint_slice_mirroring_controller", Action: "Mirroring Endpoints into slices", Workers: 1}, m.sync)
	zones := runner.NewQueue(p, runner.QueueOptions{Name: "endpoint_slice_topology", Action: "Updating topology data", Workers: 1}, c.updateZones)
	p.Queues.WaitFor(core.Services().Informer().HasSynced, core.Pods().Informer().HasSynced, core.Nodes().Informer().HasSynced,
		endpointSlices.Informer().HasSynced, legacy.Informer().HasSynced)
	return errors.Join(
		workqueue.Watch(core.Services().Informer(), c.onService),
		workqueue.Watch(core.Pods().Informer(), c.onPod),
		workqueue.Watch(endpointSlices.Informer(), c.onSlice),
		workqueue.Watch(legacy.Informer(), c.onEndpoints),
		workqueue.Watch(core.Services().Informer(), m.onService),
		workqueue.Watch(endpointSlices.Informer(), m.onSlice),
		workqueue.Watch(legacy.Informer(), m.onEndpoints),
		workqueue.Watch(core.Nodes().Informer(), func(old, cur *corev1.Node) {
			if nodeWeight(old) != nodeWeight(cur) {
				zones.Add(struct{}{})
			}
			if old == nil {
				c.onNodeAdded(cur.Name)
			}
		}))
}

func (c *controller) onService(old, cur *corev1.Service) {
	if cur == nil {
		cur = old
	}
	c.queue.Add(serviceKey{cur.Namespace, cur.Name})
}

// onPod enqueues the Services that select a pod, or did, if the pod's endpoints change.
func (c *controller) onPod(old, cur *corev1.Pod) {
	var key *util.PodProjectionKey
	switch {
	case old == nil:
		key = util.GetPodUpdateProjectionKey(nil, cur)
	case cur == nil:
		key = util.GetPodUpdateProjectionKey(nil, old)
	default:
		key = util.GetPodUpdateProjectionKey(old, cur)
	}
	keys, err := util.GetServicesToUpdate(c.services, key)
	if err != nil {
		c.log.Error(err, "Failed to list the Services of a pod")
	}
	for _, serviceName := range sets.List(keys) {
		namespace, name, _ := strings.Cut(serviceName, "/")
		k := serviceKey{namespace, name}
		c.queue.AddAfter(k, time.Duration(c.state.size(k))*perPodDelay)
	}
}

// onNodeAdded enqueues the Services with pods on a node that was not in the cache.
func (c *controller) onNodeAdded(name string) {
	for _, k := range c.state.takeByUnknownNode(name) {
		c.queue.Add(k)
	}
}

// onSlice enqueues the Service of a slice that another client has created, changed or deleted.
func (c *controller) onSlice(old, cur *discoveryv1.EndpointSlice) {
	switch {
	case cur == nil:
		if c.reconciler.ManagedByController(old) && c.tracker.Has(old) && !c.tracker.HandleDeletion(old) {
			c.enqueueOwner(old)
		}
	case old == nil:
		if c.reconciler.ManagedByController(cur) && c.tracker.ShouldSync(cur) {
			c.enqueueOwner(cur)
		}
	default:
		moved := old.Labels[discoveryv1.LabelServiceName] != cur.Labels[discoveryv1.LabelServiceName]
		if moved {
			c.enqueueOwner(old)
		}
		if moved || c.reconciler.ManagedByChanged(old, cur) || c.reconciler.ManagedByController(cur) && c.tracker.ShouldSync(cur) {
			c.enqueueOwner(cur)
		}
	}
}

// enqueueOwner enqueues the Service of a slice.
func (c *controller) enqueueOwner(s *discoveryv1.EndpointSlice) {
	if name := s.Labels[discoveryv1.LabelServiceName]; name != "" {
		c.queue.Add(serviceKey{s.Namespace, name})
	}
}

// onEndpoints enqueues the Service of added or deleted Endpoints.
func (c *controller) onEndpoints(old, cur *corev1.Endpoints) {
	switch {
	case cur == nil:
		c.queue.Add(serviceKey{old.Namespace, old.Name})
	case old == nil:
		c.queue.Add(serviceKey{cur.Namespace, cur.Name})
	}
}
