package feed

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/berthproject/berth/engine/model"
)

// kind is how objects of one kind are read and compiled.
type kind struct {
	name   string
	object runtime.Object
	list   func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch  func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// compile gives nil for what nobody needs to know.
	compile func(obj any) (any, error)
	// gone, if there is one, is called before it is told that an object is gone.
	gone  func(uid string)
	quiet bool // nobody needs to know what is gone
}

// lister is the part of a typed client that reads.
type lister[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// read makes a kind of a typed client and its compilation.
func read[T runtime.Object, L runtime.Object, M any](name string, object T, client lister[L], compile func(T) M) kind {
	return kind{name: name, object: object,
		list:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return client.List(ctx, o) },
		watch: client.Watch,
		compile: func(obj any) (any, error) {
			o, ok := obj.(T)
			if !ok {
				return nil, fmt.Errorf("%s: got an object of type %T, want %T", name, obj, object)
			}
			return compile(o), nil
		},
	}
}

// kinds is everything that scheduling reads.
func (f *Feed) kinds() []kind {
	core, apps, in := f.client.CoreV1(), f.client.AppsV1(), f.intake
	return append([]kind{
		f.pods(), f.evictions(),
		read("nodes", &corev1.Node{}, core.Nodes(), f.compileNode),
		read("namespaces", &corev1.Namespace{}, core.Namespaces(), in.Namespace),
		read("services", &corev1.Service{}, core.Services(""), in.Service),
		read("replicationcontrollers", &corev1.ReplicationController{}, core.ReplicationControllers(""), in.ReplicationController),
		read("replicasets", &appsv1.ReplicaSet{}, apps.ReplicaSets(""), in.ReplicaSet),
		read("statefulsets", &appsv1.StatefulSet{}, apps.StatefulSets(""), in.StatefulSet),
		read("poddisruptionbudgets", &policyv1.PodDisruptionBudget{}, f.client.PolicyV1().PodDisruptionBudgets(""), in.Budget),
		read("priorityclasses", &schedulingv1.PriorityClass{}, f.client.SchedulingV1().PriorityClasses(), in.PriorityClass),
	}, f.volumes()...)
}

func (f *Feed) volumes() []kind {
	core, storage, in := f.client.CoreV1(), f.client.StorageV1(), f.intake
	return []kind{
		read("persistentvolumes", &corev1.PersistentVolume{}, core.PersistentVolumes(), in.PersistentVolume),
		read("persistentvolumeclaims", &corev1.PersistentVolumeClaim{}, core.PersistentVolumeClaims(""), in.PersistentVolumeClaim),
		read("storageclasses", &storagev1.StorageClass{}, storage.StorageClasses(), in.StorageClass),
		read("csinodes", &storagev1.CSINode{}, storage.CSINodes(), in.CSINode),
		read("csidrivers", &storagev1.CSIDriver{}, storage.CSIDrivers(), in.CSIDriver),
		read("csistoragecapacities", &storagev1.CSIStorageCapacity{}, storage.CSIStorageCapacities(""), in.CSIStorageCapacity),
		read("volumeattachments", &storagev1.VolumeAttachment{}, storage.VolumeAttachments(), in.VolumeAttachment),
	}
}

// unfinished leaves out pods that take no room any more.
const unfinished = "status.phase!=Succeeded,status.phase!=Failed"

func (f *Feed) pods() kind {
	client := f.client.CoreV1().Pods("")
	compile := func(p *corev1.Pod) *model.Pod {
		f.note(p)
		if f.pod != nil {
			f.pod(p)
		}
		return f.intake.Pod(p)
	}
	k := read("pods", &corev1.Pod{}, client, compile)
	k.gone = f.forget
	if f.pod != nil {
		return k
	}
	k.list = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		o.FieldSelector = unfinished
		return client.List(ctx, o)
	}
	k.watch = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.FieldSelector = unfinished
		return client.Watch(ctx, o)
	}
	return k
}

func (f *Feed) compileNode(n *corev1.Node) *model.Node {
	if f.node != nil {
		f.node(n)
	}
	return f.intake.Node(n)
}

// evictions are the pods that failed, of which only those matter that their node threw out.
func (f *Feed) evictions() kind {
	client := f.client.CoreV1().Pods("")
	const failed = "status.phase=Failed"
	k := read("failed pods", &corev1.Pod{}, client, f.intake.Eviction)
	k.quiet = true
	compile := k.compile
	k.compile = func(obj any) (any, error) {
		o, err := compile(obj)
		if e, ok := o.(*model.Eviction); ok && e == nil {
			return nil, err
		}
		return o, err
	}
	k.list = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		o.FieldSelector = failed
		return client.List(ctx, o)
	}
	k.watch = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.FieldSelector = failed
		return client.Watch(ctx, o)
	}
	return k
}
