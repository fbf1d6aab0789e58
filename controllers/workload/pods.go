package workload

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/controllers/workqueue"
)

// Pods are the pods that one loop looks after, as the cache knows them and as the loop wrote them.
type Pods struct {
	client   kubernetes.Interface
	events   record.EventRecorder
	informer cache.SharedIndexInformer
	pending  *pendingWrites
}

// byController indexes pods by the uid of their controller; those without one by their namespace.
const byController = "berth-controller"

// orphansOf is the index value of a namespace's pods without a controller.
func orphansOf(namespace string) string { return "orphan/" + namespace }

// indexMu keeps two loops that share a factory from adding the same index at once.
var indexMu sync.Mutex

// NewPods reads pods from the factory's cache, which the caller starts after Watch.
func NewPods(client kubernetes.Interface, factory informers.SharedInformerFactory, events record.EventRecorder) (*Pods, error) {
	informer := factory.Core().V1().Pods().Informer()
	if err := IndexByController(informer); err != nil {
		return nil, err
	}
	return &Pods{client: client, events: events, informer: informer, pending: newPendingWrites()}, nil
}

// IndexByController lets Controlled find an informer's objects.
func IndexByController(informer cache.SharedIndexInformer) error {
	indexMu.Lock()
	defer indexMu.Unlock()
	if _, there := informer.GetIndexer().GetIndexers()[byController]; there {
		return nil
	}
	return informer.AddIndexers(cache.Indexers{byController: func(obj any) ([]string, error) {
		o, ok := obj.(metav1.Object)
		if !ok {
			return nil, nil
		}
		if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
			return []string{string(ref.UID)}, nil
		}
		return []string{orphansOf(o.GetNamespace())}, nil
	}})
}

// Controlled are the objects of an informer that an owner controls, and, with orphans, those of its
// namespace that nobody does.
func Controlled[T metav1.Object](informer cache.SharedIndexInformer, owner metav1.Object, orphans bool) []T {
	values := []string{string(owner.GetUID())}
	if orphans {
		values = append(values, orphansOf(owner.GetNamespace()))
	}
	var out []T
	for _, v := range values {
		list, _ := informer.GetIndexer().ByIndex(byController, v)
		for _, obj := range list {
			if t, ok := obj.(T); ok && t.GetNamespace() == owner.GetNamespace() {
				out = append(out, t)
			}
		}
	}
	return out
}

// HasSynced says that the cache is filled.
func (p *Pods) HasSynced() bool { return p.informer.HasSynced() }

// Watch tells, for each change of a pod, the namespaced key of the owner of a kind that has it or
// had it, and the pod itself where it has no controller: some owner may adopt it. It must be called
// once: Pods learn by it, too, that the cache has caught up.
func (p *Pods) Watch(kind schema.GroupVersionKind, enqueue func(owner types.NamespacedName), orphan func(*corev1.Pod)) error {
	return workqueue.Watch(p.informer, func(old, now *corev1.Pod) {
		if now == nil {
			p.pending.observe(old, true)
		} else {
			p.pending.observe(now, now.DeletionTimestamp != nil)
		}
		notify(kind, old, now, enqueue, orphan)
	})
}

// WatchControlled is Pods.Watch for objects of any kind.
func WatchControlled[T metav1.Object](informer cache.SharedInformer, kind schema.GroupVersionKind, enqueue func(owner types.NamespacedName), orphan func(T)) error {
	return workqueue.Watch(informer, func(old, now T) { notify(kind, old, now, enqueue, orphan) })
}

func notify[T metav1.Object](kind schema.GroupVersionKind, old, now T, enqueue func(owner types.NamespacedName), orphan func(T)) {
	before, had := ownerOf(old, kind)
	if had {
		enqueue(before)
	}
	if isNil(now) {
		return
	}
	if owner, has := ownerOf(now, kind); has && (!had || owner != before) {
		enqueue(owner)
	} else if !has && orphan != nil && metav1.GetControllerOfNoCopy(now) == nil && now.GetDeletionTimestamp() == nil {
		orphan(now)
	}
}

func ownerOf[T metav1.Object](obj T, kind schema.GroupVersionKind) (types.NamespacedName, bool) {
	if isNil(obj) {
		return types.NamespacedName{}, false
	}
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil || ref.Kind != kind.Kind || schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group != kind.Group {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: ref.Name}, true
}

// isNil says that there is no object: loop.Watch tells the zero of the pointer type.
func isNil[T metav1.Object](obj T) bool {
	var none T
	return any(obj) == any(none)
}

// Claim is the owner's pods, the terminating and the ended among them, with what was written
// but is not in the cache yet. Those that are active and without a controller are adopted if the owner selects them.
func (p *Pods) Claim(ctx context.Context, o *Owner) ([]*corev1.Pod, error) {
	list := Controlled[*corev1.Pod](p.informer, o.Object, true)
	namespace := o.Object.GetNamespace()
	adopts := func(pod *corev1.Pod) bool { return isActive(pod) && (o.Adopts == nil || o.Adopts(pod)) }
	own, err := Claim(ctx, o, list, adopts, func(ctx context.Context, name string, kind types.PatchType, data []byte) error {
		_, err := p.client.CoreV1().Pods(namespace).Patch(ctx, name, kind, data, metav1.PatchOptions{})
		return err
	})
	return p.pending.overlay(o.Object.GetUID(), own), err
}

func isActive(p *corev1.Pod) bool {
	return p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed && p.DeletionTimestamp == nil
}

// ListOwned are the pods that an owner controls, as the cache shows them.
func (p *Pods) ListOwned(owner metav1.Object) []*corev1.Pod {
	return Controlled[*corev1.Pod](p.informer, owner, false)
}
