package conversion

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/api/v1alpha1"
)

// Convert returns a pointer to the engine/model value of an object, or nil if scheduling does not read the kind.
func (in *Converter) Convert(o runtime.Object) any {
	switch o := o.(type) {
	case *corev1.Pod:
		return in.Pod(o)
	case *corev1.Node:
		return in.Node(o)
	case *corev1.Namespace:
		return in.Namespace(o)
	case *corev1.Service:
		return in.Service(o)
	case *corev1.ReplicationController:
		return in.ReplicationController(o)
	case *appsv1.ReplicaSet:
		return in.ReplicaSet(o)
	case *appsv1.StatefulSet:
		return in.StatefulSet(o)
	case *policyv1.PodDisruptionBudget:
		return in.Budget(o)
	case *schedulingv1.PriorityClass:
		return in.PriorityClass(o)
	case *resourcev1.ResourceClaim:
		return in.ResourceClaim(o)
	case *v1alpha1.Hold:
		return in.Hold(o)
	}
	return in.convertVolumeObject(o)
}

func (in *Converter) convertVolumeObject(o runtime.Object) any {
	switch o := o.(type) {
	case *corev1.PersistentVolume:
		return in.PersistentVolume(o)
	case *corev1.PersistentVolumeClaim:
		return in.PersistentVolumeClaim(o)
	case *storagev1.StorageClass:
		return in.StorageClass(o)
	case *storagev1.CSINode:
		return in.CSINode(o)
	case *storagev1.CSIDriver:
		return in.CSIDriver(o)
	case *storagev1.CSIStorageCapacity:
		return in.CSIStorageCapacity(o)
	case *storagev1.VolumeAttachment:
		return in.VolumeAttachment(o)
	}
	return nil
}
