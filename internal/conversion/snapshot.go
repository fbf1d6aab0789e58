package conversion

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// Snapshot converts a list of objects to a cluster state and returns all of its pods in the order of the list. It
// drops the nominations of pods of other schedulers. It skips kinds that scheduling does not read; ignored is their
// number.
func (conv *Converter) Snapshot(objects []runtime.Object, schedulers ...string) (s *cluster.State, pods []*model.Pod, ignored int) {
	s = cluster.New()
	for _, o := range objects {
		if p, ok := o.(*corev1.Pod); ok {
			m := conv.Pod(p)
			if !slices.Contains(schedulers, m.Spec.SchedulerName) {
				m = m.WithoutNomination()
			}
			pods = append(pods, m)
			s.UpsertPod(m)
		} else if !conv.upsert(s, o) && !conv.upsertVolumeObject(s, o) {
			ignored++
		}
	}
	return s, pods, ignored
}

func (conv *Converter) upsert(s *cluster.State, o runtime.Object) bool {
	switch o := o.(type) {
	case *corev1.Node:
		s.UpsertNode(conv.Node(o))
	case *corev1.Namespace:
		s.UpsertNamespace(*conv.Namespace(o))
	case *corev1.Service:
		s.UpsertSpreadGroup(*conv.Service(o))
	case *corev1.ReplicationController:
		s.UpsertSpreadGroup(*conv.ReplicationController(o))
	case *appsv1.ReplicaSet:
		s.UpsertSpreadGroup(*conv.ReplicaSet(o))
	case *appsv1.StatefulSet:
		s.UpsertSpreadGroup(*conv.StatefulSet(o))
	case *policyv1.PodDisruptionBudget:
		s.UpsertBudget(conv.Budget(o))
	case *schedulingv1.PriorityClass:
		s.UpsertPriorityClass(conv.PriorityClass(o))
	case *v1alpha1.Hold:
		s.UpsertHold(conv.Hold(o))
	case *resourcev1.ResourceClaim:
		s.UpsertResourceClaim(conv.ResourceClaim(o))
	default:
		return false
	}
	return true
}

func (conv *Converter) upsertVolumeObject(s *cluster.State, o runtime.Object) bool {
	switch o := o.(type) {
	case *corev1.PersistentVolume:
		s.UpsertPV(conv.PersistentVolume(o))
	case *corev1.PersistentVolumeClaim:
		s.UpsertPVC(conv.PersistentVolumeClaim(o))
	case *storagev1.StorageClass:
		s.UpsertStorageClass(conv.StorageClass(o))
	case *storagev1.CSINode:
		s.UpsertCSINode(conv.CSINode(o))
	case *storagev1.CSIDriver:
		s.UpsertCSIDriver(conv.CSIDriver(o))
	case *storagev1.CSIStorageCapacity:
		s.UpsertCSIStorageCapacity(conv.CSIStorageCapacity(o))
	case *storagev1.VolumeAttachment:
		s.UpsertVolumeAttachment(conv.VolumeAttachment(o))
	default:
		return false
	}
	return true
}
