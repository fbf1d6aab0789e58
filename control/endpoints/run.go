package endpoints

import (
	"context"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/metrics"
	"k8s.io/endpointslice/topologycache"
	"k8s.io/endpointslice/util"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/control/loop"
)

const (
	// manager is what the slices of this loop are labelled with: upstream's name, so
	// that either takes over what the other has written.
	manager = "endpointslice-controller.k8s.io"
	// perSlice is how many endpoints a slice holds at most: upstream's default.
	perSlice = 100
	workers  = 5
	// pace is waited for each pod of a Service before its next look: 200 ms for 10,000.
	pace = 20 * time.Microsecond
	// catchUp is how long a cache gets that has not seen our last write.
	catchUp = 20 * time.Millisecond
)

// service names a Service.
type service struct{ namespace, name string }

func (s service) String() string { return s.namespace + "/" + s.name }

// endpoints is the loop.
type endpoints struct {
	client   kubernetes.Interface
	log      klog.Logger
	loop     *loop.Loop[service]
	services corelisters.ServiceLister
	pods     corelisters.PodLister
	nodes    corelisters.NodeLister
	slices   discoverylisters.EndpointSliceLister
	legacy   corelisters.EndpointsLister

	reconciler *endpointslice.Reconciler
	tracker    *util.EndpointSliceTracker
	triggers   *util.TriggerTimeTracker
	zones      *topologycache.TopologyCache
	seen       seen
}

// Run keeps EndpointSlices and Endpoints until ctx ends. factory (started here if it is not yet)
// supplies Services, pods, nodes and EndpointSlices; Endpoints are watched through client, which should not
// log the server's warnings that they are deprecated. An error means that it could not start.
func Run(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, log klog.Logger) error {
	metrics.RegisterMetrics()
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	own := informers.NewSharedInformerFactory(client, 0)
	defer own.Shutdown()
	core, legacy := factory.Core().V1(), own.Core().V1().Endpoints()
	slices := factory.Discovery().V1().EndpointSlices()
	e := &endpoints{
		client: client, log: log,
		services: core.Services().Lister(), pods: core.Pods().Lister(), nodes: core.Nodes().Lister(),
		slices: slices.Lister(), legacy: legacy.Lister(),
		tracker: util.NewEndpointSliceTracker(), triggers: util.NewTriggerTimeTracker(), zones: topologycache.NewTopologyCache(),
	}
	e.reconciler = endpointslice.NewReconciler(client, e.nodes, perSlice, e.tracker, e.zones,
		broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "endpoint-slice-controller"}), manager,
		endpointslice.WithPreferSameTrafficDistributionEnabled(true))
	e.loop = loop.New("endpoint_slice", "Writing the endpoints", log, e.sync)
	m := &mirror{client: client, services: e.services, legacy: e.legacy, slices: e.slices, tracker: util.NewEndpointSliceTracker()}
	m.loop = loop.New("endpoint_slice_mirroring_controller", "Mirroring Endpoints into slices", log, m.sync)
	zones := loop.New("endpoint_slice_topology", "Counting the zones' processors", log, e.weighZones)
	for _, err := range []error{
		loop.Watch(core.Services().Informer(), e.serviceChanged),
		loop.Watch(core.Pods().Informer(), e.podChanged),
		loop.Watch(slices.Informer(), e.sliceChanged),
		loop.Watch(legacy.Informer(), e.legacyChanged),
		loop.Watch(core.Services().Informer(), m.serviceChanged),
		loop.Watch(slices.Informer(), m.sliceChanged),
		loop.Watch(legacy.Informer(), m.legacyChanged),
		loop.Watch(core.Nodes().Informer(), func(old, now *corev1.Node) {
			if weighs(old) != weighs(now) {
				zones.Add(struct{}{})
			}
			if old == nil {
				e.nodeCame(now.Name)
			}
		}),
	} {
		if err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	own.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), core.Services().Informer().HasSynced, core.Pods().Informer().HasSynced,
		core.Nodes().Informer().HasSynced, slices.Informer().HasSynced, legacy.Informer().HasSynced) {
		return nil
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { zones.Run(ctx, 1) })
	wg.Go(func() { m.loop.Run(ctx, 1) })
	e.loop.Run(ctx, workers)
	return nil
}

func (e *endpoints) serviceChanged(old, now *corev1.Service) {
	if now == nil {
		now = old
	}
	e.loop.Add(service{now.Namespace, now.Name})
}

// podChanged queues the Services that select a pod, or did, if what endpoints say of it has changed.
func (e *endpoints) podChanged(old, now *corev1.Pod) {
	var key *util.PodProjectionKey
	switch {
	case old == nil:
		key = util.GetPodUpdateProjectionKey(nil, now)
	case now == nil:
		key = util.GetPodUpdateProjectionKey(nil, old)
	default:
		key = util.GetPodUpdateProjectionKey(old, now)
	}
	keys, err := util.GetServicesToUpdate(e.services, key)
	if err != nil {
		e.log.Error(err, "Finding the Services of a pod failed")
	}
	for of := range keys {
		namespace, name, _ := strings.Cut(of, "/")
		k := service{namespace, name}
		e.loop.AddAfter(k, time.Duration(e.seen.size(k))*pace)
	}
}

// nodeCame queues the Services of pods whose node was not known when they were looked at.
func (e *endpoints) nodeCame(name string) {
	for k := range e.seen.came(name) {
		e.loop.Add(k)
	}
}

func (e *endpoints) sliceChanged(old, now *discoveryv1.EndpointSlice) {
	switch {
	case now == nil:
		if e.reconciler.ManagedByController(old) && e.tracker.Has(old) && !e.tracker.HandleDeletion(old) {
			e.addOwner(old)
		}
	case old == nil:
		if e.reconciler.ManagedByController(now) && e.tracker.ShouldSync(now) {
			e.addOwner(now)
		}
	default:
		moved := old.Labels[discoveryv1.LabelServiceName] != now.Labels[discoveryv1.LabelServiceName]
		if moved {
			e.addOwner(old)
		}
		if moved || e.reconciler.ManagedByChanged(old, now) || e.reconciler.ManagedByController(now) && e.tracker.ShouldSync(now) {
			e.addOwner(now)
		}
	}
}

// addOwner queues the Service that a slice says it is of.
func (e *endpoints) addOwner(s *discoveryv1.EndpointSlice) {
	if name := s.Labels[discoveryv1.LabelServiceName]; name != "" {
		e.loop.Add(service{s.Namespace, name})
	}
}

// legacyChanged queues the Service whose Endpoints have come or gone.
func (e *endpoints) legacyChanged(old, now *corev1.Endpoints) {
	switch {
	case now == nil:
		e.loop.Add(service{old.Namespace, old.Name})
	case old == nil:
		e.loop.Add(service{now.Namespace, now.Name})
	}
}
