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
func (conv *Converter) Convert(o runtime.Object) any {
	switch o := o.(type) {
	case *corev1.Pod:
		return conv.Pod(o)
	case *corev1.Node:
		return conv.Node(o)
	case *corev1.Namespace:
		return conv.Namespace(o)
	case *corev1.Service:
		return conv.Service(o)
	case *corev1.ReplicationController:
		return conv.ReplicationController(o)
	case *appsv1.ReplicaSet:
		return conv.ReplicaSet(o)
	case *appsv1.StatefulSet:
		return conv.StatefulSet(o)
	case *policyv1.PodDisruptionBudget:
		return conv.Budget(o)
	case *schedulingv1.PriorityClass:
		return conv.PriorityClass(o)
	case *resourcev1.ResourceClaim:
		return conv.ResourceClaim(o)
	case *v1alpha1.Hold:
		return conv.Hold(o)
	}
	return conv.convertVolumeObject(o)
}

func (conv *Converter) convertVolumeObject(o runtime.Object) any {
	switch o := o.(type) {
	case *corev1.PersistentVolume:
		return conv.PersistentVolume(o)
	case *corev1.PersistentVolumeClaim:
		return conv.PersistentVolumeClaim(o)
	case *storagev1.StorageClass:
		return conv.StorageClass(o)
	case *storagev1.CSINode:
		return conv.CSINode(o)
	case *storagev1.CSIDriver:
		return conv.CSIDriver(o)
	case *storagev1.CSIStorageCapacity:
		return conv.CSIStorageCapacity(o)
	case *storagev1.VolumeAttachment:
		return conv.VolumeAttachment(o)
	}
	return nil
}
