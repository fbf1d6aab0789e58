package workload

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
)

// Pods provides the pods of one controller: the cached ones, with the controller's writes that the
// cache does not show yet.
type Pods struct {
	env      runner.Environment
	client   kubernetes.Interface
	events   record.EventRecorder
	informer cache.SharedIndexInformer
	pending  *pendingWrites
}

// byController indexes objects by the UID of their controller, and those without controller by their namespace.
const byController = "berth-controller"

// orphansOf returns the index value of a namespace's objects without controller.
func orphansOf(namespace string) string { return "orphan/" + namespace }

// indexMu prevents controllers that share a factory from adding the same index concurrently.
var indexMu sync.Mutex

// NewPods returns the pods of a process's cache.
func NewPods(p *runner.Process) (*Pods, error) {
	informer := p.Informers.Core().V1().Pods().Informer()
	if err := IndexByController(informer); err != nil {
		return nil, err
	}
	return &Pods{env: p.Environment, client: p.Client, events: p.Events, informer: informer, pending: newPendingWrites(p.Environment)}, nil
}

// IndexByController adds the index that Controlled uses.
func IndexByController(informer cache.SharedIndexInformer) error {
	indexMu.Lock()
	defer indexMu.Unlock()
	if _, exists := informer.GetIndexer().GetIndexers()[byController]; exists {
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

// Controlled returns the objects that an owner controls and, with orphans, also those of its
// namespace without controller.
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

// HasSynced reports whether the cache has synced.
func (p *Pods) HasSynced() bool { return p.informer.HasSynced() }

// Watch calls enqueue with the owners of the given kind that have or had a changed pod. It calls orphan with pods
// without controller, which an owner may adopt. It must be called exactly once: it also tracks which writes the cache
// shows.
func (p *Pods) Watch(kind schema.GroupVersionKind, enqueue func(owner types.NamespacedName), orphan func(*corev1.Pod)) error {
	return workqueue.Watch(p.informer, func(old, cur *corev1.Pod) {
		if cur == nil {
			p.pending.observe(old, true)
		} else {
			p.pending.observe(cur, cur.DeletionTimestamp != nil)
		}
		notify(kind, old, cur, enqueue, orphan)
	})
}

// WatchWorkloads calls enqueue with the workloads of a kind when they, their pods or their Holds change, and when a pod
// appears that they may adopt. It calls forget with the UID of a deleted one. Like Watch, it must be called exactly once.
func WatchWorkloads[T Object](p *Pods, avoid *AvoidHolds, kind schema.GroupVersionKind, informer cache.SharedIndexInformer, selectorOf func(T) *metav1.LabelSelector,
	enqueue func(types.NamespacedName), forget func(types.UID)) error {
	err := workqueue.Watch(informer, func(old, cur T) {
		if isNil(cur) {
			cur = old
			forget(old.GetUID())
		}
		enqueue(KeyOf(cur))
	})
	if err != nil {
		return err
	}
	avoid.OnChange(func(k string, owner types.NamespacedName) {
		if k == kind.Kind {
			enqueue(owner)
		}
	})
	return p.Watch(kind, enqueue, func(pod *corev1.Pod) {
		list, _ := informer.GetIndexer().ByIndex(cache.NamespaceIndex, pod.Namespace)
		for _, obj := range list {
			if o, ok := obj.(T); ok && Selects(selectorOf(o), pod) {
				enqueue(KeyOf(o))
			}
		}
	})
}

// WatchControlled is Pods.Watch for objects of any kind.
func WatchControlled[T metav1.Object](informer cache.SharedInformer, kind schema.GroupVersionKind, enqueue func(owner types.NamespacedName), orphan func(T)) error {
	return workqueue.Watch(informer, func(old, cur T) { notify(kind, old, cur, enqueue, orphan) })
}

func notify[T metav1.Object](kind schema.GroupVersionKind, old, cur T, enqueue func(owner types.NamespacedName), orphan func(T)) {
	oldOwner, hadOwner := ownerOf(old, kind)
	if hadOwner {
		enqueue(oldOwner)
	}
	if isNil(cur) {
		return
	}
	if owner, ok := ownerOf(cur, kind); ok && (!hadOwner || owner != oldOwner) {
		enqueue(owner)
	} else if !ok && orphan != nil && metav1.GetControllerOfNoCopy(cur) == nil && cur.GetDeletionTimestamp() == nil {
		orphan(cur)
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

// isNil reports whether obj is the nil pointer that workqueue.Watch passes for a missing object.
func isNil[T metav1.Object](obj T) bool {
	var zero T
	return any(obj) == any(zero)
}

// Claim returns the owner's pods, including terminating and finished pods, and created pods that the cache does
// not show yet. It adopts active pods without controller that the owner selects.
func (p *Pods) Claim(ctx context.Context, o *Owner) ([]*corev1.Pod, error) {
	list := Controlled[*corev1.Pod](p.informer, o.Object, true)
	namespace := o.Object.GetNamespace()
	adopts := func(pod *corev1.Pod) bool { return isActive(pod) && (o.Adopts == nil || o.Adopts(pod)) }
	claimed, err := Claim(ctx, o, list, adopts, func(ctx context.Context, name string, kind types.PatchType, data []byte) error {
		_, err := p.client.CoreV1().Pods(namespace).Patch(ctx, name, kind, data, metav1.PatchOptions{})
		return err
	})
	return p.pending.overlay(o.Object.GetUID(), claimed), err
}

func isActive(p *corev1.Pod) bool {
	return p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed && p.DeletionTimestamp == nil
}

// ListOwned returns the cached pods that an owner controls.
func (p *Pods) ListOwned(owner metav1.Object) []*corev1.Pod {
	return Controlled[*corev1.Pod](p.informer, owner, false)
}
