package store

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/api/v1alpha1"
)

// Object is any object of the API.
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind is a kind by its plural, as in a URL.
type Kind string

// The kinds that the store holds: first what scheduling reads, then the others.
const (
	Pods            Kind = "pods"
	Nodes           Kind = "nodes"
	Namespaces      Kind = "namespaces"
	Services        Kind = "services"
	Controllers     Kind = "replicationcontrollers"
	ReplicaSets     Kind = "replicasets"
	StatefulSets    Kind = "statefulsets"
	Budgets         Kind = "poddisruptionbudgets"
	PriorityClasses Kind = "priorityclasses"
	Volumes         Kind = "persistentvolumes"
	Claims          Kind = "persistentvolumeclaims"
	StorageClasses  Kind = "storageclasses"
	CSINodes        Kind = "csinodes"
	CSIDrivers      Kind = "csidrivers"
	CSICapacities   Kind = "csistoragecapacities"
	Attachments     Kind = "volumeattachments"
	DeviceClaims    Kind = "resourceclaims"
	Holds           Kind = "holds"

	Events      Kind = "events"
	Deployments Kind = "deployments"
	DaemonSets  Kind = "daemonsets"
	Jobs        Kind = "jobs"
	CronJobs    Kind = "cronjobs"
	Revisions   Kind = "controllerrevisions"
	Slices      Kind = "endpointslices"
)

// Kinds are those that scheduling reads. Pods come last, so that a list in this order
// meets nothing whose surroundings are not known.
var Kinds = [...]Kind{Namespaces, PriorityClasses, Nodes, StorageClasses, CSIDrivers, CSINodes, CSICapacities, Volumes, Claims,
	Attachments, DeviceClaims, Services, Controllers, ReplicaSets, StatefulSets, Budgets, Holds, Pods}

// others are the kinds that scheduling does not read.
var others = [...]Kind{Events, Deployments, DaemonSets, Jobs, CronJobs, Revisions, Slices}

// KindOf says of which kind an object is; empty when the store does not hold such.
func KindOf(o any) Kind {
	switch o.(type) {
	case *corev1.Pod:
		return Pods
	case *corev1.Node:
		return Nodes
	case *corev1.Namespace:
		return Namespaces
	case *corev1.Service:
		return Services
	case *corev1.ReplicationController:
		return Controllers
	case *appsv1.ReplicaSet:
		return ReplicaSets
	case *appsv1.StatefulSet:
		return StatefulSets
	case *policyv1.PodDisruptionBudget:
		return Budgets
	case *schedulingv1.PriorityClass:
		return PriorityClasses
	}
	if k := workloadKind(o); k != "" {
		return k
	}
	return volumeKind(o)
}

func workloadKind(o any) Kind {
	switch o.(type) {
	case *v1alpha1.Hold:
		return Holds
	case *eventsv1.Event:
		return Events
	case *appsv1.Deployment:
		return Deployments
	case *appsv1.DaemonSet:
		return DaemonSets
	case *batchv1.Job:
		return Jobs
	case *batchv1.CronJob:
		return CronJobs
	case *appsv1.ControllerRevision:
		return Revisions
	case *discoveryv1.EndpointSlice:
		return Slices
	}
	return ""
}

func volumeKind(o any) Kind {
	switch o.(type) {
	case *corev1.PersistentVolume:
		return Volumes
	case *corev1.PersistentVolumeClaim:
		return Claims
	case *storagev1.StorageClass:
		return StorageClasses
	case *storagev1.CSINode:
		return CSINodes
	case *storagev1.CSIDriver:
		return CSIDrivers
	case *storagev1.CSIStorageCapacity:
		return CSICapacities
	case *storagev1.VolumeAttachment:
		return Attachments
	case *resourcev1.ResourceClaim:
		return DeviceClaims
	}
	return ""
}

// Empty is an object of the kind with nothing in it; nil for an unknown kind.
func Empty(k Kind) Object {
	switch k {
	case Pods:
		return &corev1.Pod{}
	case Nodes:
		return &corev1.Node{}
	case Namespaces:
		return &corev1.Namespace{}
	case Services:
		return &corev1.Service{}
	case Controllers:
		return &corev1.ReplicationController{}
	case ReplicaSets:
		return &appsv1.ReplicaSet{}
	case StatefulSets:
		return &appsv1.StatefulSet{}
	case Budgets:
		return &policyv1.PodDisruptionBudget{}
	case PriorityClasses:
		return &schedulingv1.PriorityClass{}
	case Holds:
		return &v1alpha1.Hold{}
	}
	return emptyVolume(k)
}

func emptyVolume(k Kind) Object {
	switch k {
	case Volumes:
		return &corev1.PersistentVolume{}
	case Claims:
		return &corev1.PersistentVolumeClaim{}
	case StorageClasses:
		return &storagev1.StorageClass{}
	case CSINodes:
		return &storagev1.CSINode{}
	case CSIDrivers:
		return &storagev1.CSIDriver{}
	case CSICapacities:
		return &storagev1.CSIStorageCapacity{}
	case Attachments:
		return &storagev1.VolumeAttachment{}
	case DeviceClaims:
		return &resourcev1.ResourceClaim{}
	}
	return nil
}
