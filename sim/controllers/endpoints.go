package controllers

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/record"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/util"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// endpoints is the EndpointSlice controller; it uses the same reconciler as
// controllers/endpoints.
type endpoints struct {
	*sim.Client
	w          *sim.World
	queue      *sim.WorkQueue
	reconciler *endpointslice.Reconciler
	tracker    *util.EndpointSliceTracker
	lastSuffix map[string]int    // of slice names, by Service; survives restarts
	lastCounts map[string][3]int // results of CountEndpoints, by Service
}

// endpointsPerSlice is the upstream default.
const endpointsPerSlice = 100

// StartEndpoints starts the EndpointSlice controller.
func StartEndpoints(w *sim.World) {
	e := &endpoints{w: w, lastSuffix: map[string]int{}, lastCounts: map[string][3]int{}}
	e.Client = w.NewClient("endpoints", e, store.Nodes, store.Services, store.EndpointSlices, store.Pods)
	e.queue = sim.NewWorkQueue(e.Client, e.reconcile)
	e.Start()
}

// OnStop implements sim.Controller.
func (e *endpoints) OnStop() { e.queue.Reset() }

// OnSynced implements sim.Controller.
func (e *endpoints) OnSynced() {
	e.tracker = util.NewEndpointSliceTracker()
	e.reconciler = endpointslice.NewReconciler(sliceClient{e: e}, nodeLister{e: e}, endpointsPerSlice, e.tracker, nil, &record.FakeRecorder{}, "endpointslice-controller.k8s.io")
	for _, key := range e.Keys(store.Services) {
		e.queue.Add(key, 0)
	}
}

// OnChange implements sim.Controller.
func (e *endpoints) OnChange(k store.Kind, old, current store.Object) {
	object := current
	if current == nil {
		object = old
		if deleted, ok := old.(*discoveryv1.EndpointSlice); ok {
			e.tracker.HandleDeletion(deleted)
		}
	}
	for _, key := range e.Keys(store.Services) {
		if e.affects(key, k, object) {
			e.queue.Add(key, 0)
		}
	}
}

// affects reports whether a change of an object affects a Service.
func (e *endpoints) affects(key string, k store.Kind, o store.Object) bool {
	s, ok := e.Cached(store.Services)[key].(*corev1.Service)
	if !ok {
		return false
	}
	switch k {
	case store.Services:
		return key == store.KeyOf(o)
	case store.EndpointSlices:
		return key == store.Key(o.GetNamespace(), o.GetLabels()[discoveryv1.LabelServiceName])
	case store.Pods:
		return o.GetNamespace() == s.Namespace && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(o.GetLabels()))
	}
	return true
}

// reconcile updates the slices of a Service.
func (e *endpoints) reconcile(key string, done func(time.Duration, error)) {
	s, ok := e.Cached(store.Services)[key].(*corev1.Service)
	if !ok || s.Spec.Selector == nil {
		done(0, nil)
		return
	}
	var slices []*discoveryv1.EndpointSlice
	for _, k := range e.Keys(store.EndpointSlices) {
		if o, ok := e.Cached(store.EndpointSlices)[k].(*discoveryv1.EndpointSlice); ok && e.affects(key, store.EndpointSlices, o) {
			slices = append(slices, o)
		}
	}
	if e.tracker.StaleSlices(s, slices) {
		done(20*time.Millisecond, nil)
		return
	}
	var pods []*corev1.Pod
	for i, k := range e.Keys(store.Pods) {
		if p := e.Pod(k); e.affects(key, store.Pods, p) {
			pods = append(pods, withPodIP(p, i))
		}
	}
	e.Request("slices", key, func() error {
		err := e.reconciler.Reconcile(klog.Logger{}, s, pods, slices, e.w.Now())
		e.logCounts(s)
		return err
	}, func(err error) { done(0, err) })
}

// withPodIP returns p with an address, because simulated agents report none.
func withPodIP(p *corev1.Pod, i int) *corev1.Pod {
	q := *p
	q.Status.PodIP = fmt.Sprintf("10.0.%d.%d", i/250, 1+i%250)
	q.Status.PodIPs = []corev1.PodIP{{IP: q.Status.PodIP}}
	return &q
}

// CountEndpoints counts the endpoints of a Service: those that are ready, those that are terminating, and those
// that are serving while terminating.
func CountEndpoints(w *sim.World, service string) (ready, terminating, serving int) {
	for _, o := range w.API().List(store.EndpointSlices) {
		s, ok := o.(*discoveryv1.EndpointSlice)
		if !ok || store.Key(s.Namespace, s.Labels[discoveryv1.LabelServiceName]) != service {
			continue
		}
		isTrue := func(b *bool) bool { return b != nil && *b }
		for i := range s.Endpoints {
			c := &s.Endpoints[i].Conditions
			switch {
			case isTrue(c.Terminating) && isTrue(c.Serving):
				terminating, serving = terminating+1, serving+1
			case isTrue(c.Terminating):
				terminating++
			case isTrue(c.Ready):
				ready++
			}
		}
	}
	return ready, terminating, serving
}

// logCounts logs the counts when they change.
func (e *endpoints) logCounts(s *corev1.Service) {
	ready, terminating, serving := CountEndpoints(e.w, store.KeyOf(s))
	if counts := [3]int{ready, terminating, serving}; e.lastCounts[store.KeyOf(s)] != counts {
		e.lastCounts[store.KeyOf(s)] = counts
		e.w.Log("endpoints", "slices", store.KeyOf(s), fmt.Sprintf("service %s has %d ready endpoints, %d terminating (%d still serving)", store.KeyOf(s), ready, terminating, serving))
	}
}
