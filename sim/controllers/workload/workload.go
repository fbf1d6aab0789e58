package workload

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/api/v1alpha1"
	engineworkload "github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/fakeowners"
	"github.com/berthproject/berth/sim/store"
)

// controller is the controller of Deployments, ReplicaSets, StatefulSets and DaemonSets. It
// writes only the status of ReplicaSets of Deployments.
type controller struct {
	*sim.Client
	w           *sim.World
	o           Options
	queue       *sim.WorkQueue                                  // by kind and key
	pods        map[string]map[string]*corev1.Pod               // by controller UID and key
	expected    map[string]map[string]bool                      // created pods that are not observed yet, by controller UID
	failures    map[string]map[string]engineworkload.PodFailure // of deleted pods, by owner and node, by UID
	holdDeleted map[string]time.Time                            // by owner and node: when the last Hold was deleted early
	lastSuffix  map[string]int                                  // of pod names, by controller UID; survives restarts
}

// Options configure the controller.
type Options struct {
	// NoReplacementDelay replaces rejected pods at once, as upstream.
	NoReplacementDelay bool
}

// Start starts the controller.
func Start(w *sim.World, options Options) {
	o := &controller{w: w, o: options, lastSuffix: map[string]int{}}
	o.Client = w.NewClient("workload", o, store.Nodes, store.Holds, store.Deployments, store.ReplicaSets, store.StatefulSets, store.DaemonSets, store.Pods)
	o.queue = sim.NewWorkQueue(o.Client, o.reconcile)
	o.Start()
}

// OnStop implements sim.Controller.
func (o *controller) OnStop() { o.queue.Reset() }

// OnSynced implements sim.Controller.
func (o *controller) OnSynced() {
	o.pods, o.expected = map[string]map[string]*corev1.Pod{}, map[string]map[string]bool{}
	o.failures, o.holdDeleted = map[string]map[string]engineworkload.PodFailure{}, map[string]time.Time{}
	for _, k := range []store.Kind{store.Pods, store.Deployments, store.ReplicaSets, store.StatefulSets, store.DaemonSets} {
		for _, key := range o.Keys(k) {
			o.OnChange(k, nil, o.Cached(k)[key])
		}
	}
}

// enqueueDaemonSets enqueues all DaemonSets.
func (o *controller) enqueueDaemonSets() {
	for _, key := range o.Keys(store.DaemonSets) {
		o.queue.Add("DaemonSet "+key, 0)
	}
}

// OnChange implements sim.Controller.
func (o *controller) OnChange(k store.Kind, old, current store.Object) {
	object := current
	if current == nil {
		object = old
	}
	switch k {
	case store.Pods:
		p, _ := object.(*corev1.Pod)
		o.observePod(p, current == nil)
	case store.ReplicaSets:
		o.queue.Add("ReplicaSet "+store.KeyOf(object), 0)
		if c := metav1.GetControllerOfNoCopy(object); c != nil {
			o.queue.Add("Deployment "+store.Key(object.GetNamespace(), c.Name), 0)
		}
	case store.Deployments:
		o.queue.Add("Deployment "+store.KeyOf(object), 0)
	case store.DaemonSets:
		o.queue.Add("DaemonSet "+store.KeyOf(object), 0)
	case store.StatefulSets:
		o.queue.Add("StatefulSet "+store.KeyOf(object), 0)
	case store.Nodes:
		o.enqueueDaemonSets()
	case store.Holds:
		if h, ok := object.(*v1alpha1.Hold); ok {
			if current == nil && o.w.Now().Before(h.Spec.Until.Time) {
				o.holdDeleted[ownerNodeKey(h.Spec.Owner.UID, h.Spec.Node)] = o.w.Now()
			}
			o.queue.Add(h.Spec.Owner.Kind+" "+store.Key(h.Namespace, h.Spec.Owner.Name), 0)
		}
	}
}

func (o *controller) observePod(p *corev1.Pod, deleted bool) {
	c := metav1.GetControllerOfNoCopy(p)
	if c == nil || strings.HasPrefix(string(c.UID), fakeowners.UIDPrefix) {
		return
	}
	id, key := string(c.UID), store.KeyOf(p)
	if o.pods[id] == nil {
		o.pods[id] = map[string]*corev1.Pod{}
	}
	if o.pods[id][key] = p; deleted {
		delete(o.pods[id], key)
	}
	delete(o.expected[id], key)
	o.queue.Add(c.Kind+" "+store.Key(p.Namespace, c.Name), 0)
}

func (o *controller) reconcile(key string, done func(time.Duration, error)) {
	kind, name, _ := strings.Cut(key, " ")
	switch kind {
	case "ReplicaSet":
		if rs, ok := o.Cached(store.ReplicaSets)[name].(*appsv1.ReplicaSet); ok && len(o.expected[string(rs.UID)]) == 0 {
			o.reconcileReplicaSet(rs, done)
			return
		}
	case "Deployment":
		if d, ok := o.Cached(store.Deployments)[name].(*appsv1.Deployment); ok {
			o.reconcileDeployment(d, done)
			return
		}
	case "StatefulSet":
		if set, ok := o.Cached(store.StatefulSets)[name].(*appsv1.StatefulSet); ok && len(o.expected[string(set.UID)]) == 0 {
			o.reconcileStatefulSet(set, done)
			return
		}
	case "DaemonSet":
		if ds, ok := o.Cached(store.DaemonSets)[name].(*appsv1.DaemonSet); ok && len(o.expected[string(ds.UID)]) == 0 {
			o.reconcileDaemonSet(ds, done)
			return
		}
	}
	done(0, nil)
}

// imageOf returns the image, which identifies a template in scenarios.
func imageOf(s *corev1.PodSpec) string {
	if len(s.Containers) == 0 {
		return ""
	}
	return s.Containers[0].Image
}

// requeueAfter returns the time until t, or 0 if t is zero.
func (o *controller) requeueAfter(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return max(t.Sub(o.w.Now()), time.Millisecond)
}

func ownerNodeKey[T ~string](owner T, node string) string { return string(owner) + " " + node }

// notBefore returns the time before which an owner must not create a pod on node.
func (o *controller) notBefore(owner store.Object, node string, failures []engineworkload.PodFailure) time.Time {
	if o.o.NoReplacementDelay {
		return time.Time{}
	}
	for _, key := range o.Keys(store.Holds) {
		h, ok := o.Cached(store.Holds)[key].(*v1alpha1.Hold)
		if ok && node != "" && h.Spec.Type == v1alpha1.Avoid && h.Spec.Owner.UID == owner.GetUID() && h.Spec.Node == node && h.Spec.Until.After(o.w.Now()) {
			return h.Spec.Until.Time
		}
	}
	var counted []engineworkload.PodFailure
	for _, d := range failures {
		if !d.FailedAt.Before(o.holdDeleted[ownerNodeKey(owner.GetUID(), d.Node)].Truncate(time.Second)) { // timestamps are whole seconds
			counted = append(counted, d)
		}
	}
	until, _ := engineworkload.BackoffUntil(counted, node)
	return until
}
