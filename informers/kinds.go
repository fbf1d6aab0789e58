package informers

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/conversion"
)

// kind describes how objects of one kind are listed, watched and converted.
type kind struct {
	name   string
	object runtime.Object
	list   func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch  func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// convert returns nil for objects that are not relevant.
	convert func(obj any) (any, error)
	// detail, if set, returns an event to emit before that of the object.
	detail func(obj any) scheduling.Event
	// onDelete, if set, is called before the deletion event is emitted.
	onDelete    func(uid string)
	omitDeletes bool // emit no deletion events
}

// listWatcher is the part of a typed client that lists and watches.
type listWatcher[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// newKind returns a kind for a typed client and a conversion.
func newKind[T runtime.Object, L runtime.Object, M any](name string, object T, client listWatcher[L], convert func(T) M) kind {
	return kind{name: name, object: object,
		list:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return client.List(ctx, o) },
		watch: client.Watch,
		convert: func(obj any) (any, error) {
			o, ok := obj.(T)
			if !ok {
				return nil, fmt.Errorf("%s: got an object of type %T, want %T", name, obj, object)
			}
			return convert(o), nil
		},
	}
}

// kinds returns all kinds that scheduling reads.
func (s *Source) kinds() []kind {
	core, apps, converter := s.client.CoreV1(), s.client.AppsV1(), s.converter
	return append([]kind{
		s.pods(), s.failedPods(),
		s.nodes(),
		newKind("namespaces", &corev1.Namespace{}, core.Namespaces(), converter.Namespace),
		newKind("services", &corev1.Service{}, core.Services(""), converter.Service),
		newKind("replicationcontrollers", &corev1.ReplicationController{}, core.ReplicationControllers(""), converter.ReplicationController),
		newKind("replicasets", &appsv1.ReplicaSet{}, apps.ReplicaSets(""), converter.ReplicaSet),
		newKind("statefulsets", &appsv1.StatefulSet{}, apps.StatefulSets(""), converter.StatefulSet),
		newKind("poddisruptionbudgets", &policyv1.PodDisruptionBudget{}, s.client.PolicyV1().PodDisruptionBudgets(""), converter.Budget),
		newKind("priorityclasses", &schedulingv1.PriorityClass{}, s.client.SchedulingV1().PriorityClasses(), converter.PriorityClass),
	}, s.volumes()...)
}

func (s *Source) volumes() []kind {
	core, storage, converter := s.client.CoreV1(), s.client.StorageV1(), s.converter
	return []kind{
		newKind("persistentvolumes", &corev1.PersistentVolume{}, core.PersistentVolumes(), converter.PersistentVolume),
		newKind("persistentvolumeclaims", &corev1.PersistentVolumeClaim{}, core.PersistentVolumeClaims(""), converter.PersistentVolumeClaim),
		newKind("storageclasses", &storagev1.StorageClass{}, storage.StorageClasses(), converter.StorageClass),
		newKind("csinodes", &storagev1.CSINode{}, storage.CSINodes(), converter.CSINode),
		newKind("csidrivers", &storagev1.CSIDriver{}, storage.CSIDrivers(), converter.CSIDriver),
		newKind("csistoragecapacities", &storagev1.CSIStorageCapacity{}, storage.CSIStorageCapacities(""), converter.CSIStorageCapacity),
		newKind("volumeattachments", &storagev1.VolumeAttachment{}, storage.VolumeAttachments(), converter.VolumeAttachment),
	}
}

// unfinishedPodSelector excludes pods that no longer use resources.
const unfinishedPodSelector = "status.phase!=Succeeded,status.phase!=Failed"

func (s *Source) pods() kind {
	client := s.client.CoreV1().Pods("")
	convert := func(p *corev1.Pod) *model.Pod {
		s.setCondition(p)
		if s.onPod != nil {
			s.onPod(p)
		}
		return s.converter.Pod(p)
	}
	k := newKind("pods", &corev1.Pod{}, client, convert)
	k.onDelete = s.forgetCondition
	if s.details {
		k.detail = podDetails
		return k
	}
	k.list = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		o.FieldSelector = unfinishedPodSelector
		return client.List(ctx, o)
	}
	k.watch = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.FieldSelector = unfinishedPodSelector
		return client.Watch(ctx, o)
	}
	return k
}

// podDetails returns the PodDetails of a pod.
func podDetails(obj any) scheduling.Event {
	p, _ := obj.(*corev1.Pod) // kind.convert has checked the type
	return PodDetails{string(p.UID), conversion.PodDetails(p)}
}

func (s *Source) nodes() kind {
	k := newKind("nodes", &corev1.Node{}, s.client.CoreV1().Nodes(), s.convertNode)
	if s.details {
		k.detail = nodeReadiness
	}
	return k
}

// nodeReadiness returns the NodeReadiness of a node.
func nodeReadiness(obj any) scheduling.Event {
	n, _ := obj.(*corev1.Node) // kind.convert has checked the type
	return NodeReadiness{string(n.UID), conversion.NotReady(n)}
}

func (s *Source) convertNode(n *corev1.Node) *model.Node {
	if s.onNode != nil {
		s.onNode(n)
	}
	return s.converter.Node(n)
}

// failedPods watches Failed pods. Only those that their node evicted or rejected are relevant.
func (s *Source) failedPods() kind {
	client := s.client.CoreV1().Pods("")
	const failed = "status.phase=Failed"
	k := newKind("failed pods", &corev1.Pod{}, client, s.converter.Eviction)
	k.omitDeletes = true
	convert := k.convert
	k.convert = func(obj any) (any, error) {
		o, err := convert(obj)
		if e, ok := o.(*model.NodeEviction); ok && e == nil {
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
