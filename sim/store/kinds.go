package store

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
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

// Object is any API object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind is the plural name of a kind, as in a URL.
type Kind string

// The kinds of the store: first those that scheduling reads, then the others.
const (
	Pods                   Kind = "pods"
	Nodes                  Kind = "nodes"
	Namespaces             Kind = "namespaces"
	Services               Kind = "services"
	ReplicationControllers Kind = "replicationcontrollers"
	ReplicaSets            Kind = "replicasets"
	StatefulSets           Kind = "statefulsets"
	PodDisruptionBudgets   Kind = "poddisruptionbudgets"
	PriorityClasses        Kind = "priorityclasses"
	PersistentVolumes      Kind = "persistentvolumes"
	PersistentVolumeClaims Kind = "persistentvolumeclaims"
	StorageClasses         Kind = "storageclasses"
	CSINodes               Kind = "csinodes"
	CSIDrivers             Kind = "csidrivers"
	CSIStorageCapacities   Kind = "csistoragecapacities"
	VolumeAttachments      Kind = "volumeattachments"
	ResourceClaims         Kind = "resourceclaims"
	Holds                  Kind = "holds"

	Events              Kind = "events"
	Deployments         Kind = "deployments"
	DaemonSets          Kind = "daemonsets"
	Jobs                Kind = "jobs"
	CronJobs            Kind = "cronjobs"
	ControllerRevisions Kind = "controllerrevisions"
	EndpointSlices      Kind = "endpointslices"
	ConfigMaps          Kind = "configmaps"
	Secrets             Kind = "secrets"
	ServiceAccounts     Kind = "serviceaccounts"
	Leases              Kind = "leases"
	CoreEvents          Kind = "coreevents" // Events of the core group
)

// SchedulingKinds are the kinds that scheduling reads. Pods are last because they refer to the
// others.
var SchedulingKinds = [...]Kind{Namespaces, PriorityClasses, Nodes, StorageClasses, CSIDrivers, CSINodes, CSIStorageCapacities, PersistentVolumes, PersistentVolumeClaims,
	VolumeAttachments, ResourceClaims, Services, ReplicationControllers, ReplicaSets, StatefulSets, PodDisruptionBudgets, Holds, Pods}

// otherKinds are the kinds that scheduling does not read.
var otherKinds = [...]Kind{Events, Deployments, DaemonSets, Jobs, CronJobs, ControllerRevisions, EndpointSlices, ConfigMaps, Secrets, ServiceAccounts, Leases, CoreEvents}

// KindOf returns the kind of an object, or "" if the store does not hold it.
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
		return ReplicationControllers
	case *appsv1.ReplicaSet:
		return ReplicaSets
	case *appsv1.StatefulSet:
		return StatefulSets
	case *policyv1.PodDisruptionBudget:
		return PodDisruptionBudgets
	case *schedulingv1.PriorityClass:
		return PriorityClasses
	}
	if k := workloadKind(o); k != "" {
		return k
	}
	if k := configurationKind(o); k != "" {
		return k
	}
	return volumeKind(o)
}

// configurationKind returns the kind of an object that only controllers of tests use.
func configurationKind(o any) Kind {
	switch o.(type) {
	case *corev1.ConfigMap:
		return ConfigMaps
	case *corev1.Secret:
		return Secrets
	case *corev1.ServiceAccount:
		return ServiceAccounts
	case *coordinationv1.Lease:
		return Leases
	case *corev1.Event:
		return CoreEvents
	}
	return ""
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
		return ControllerRevisions
	case *discoveryv1.EndpointSlice:
		return EndpointSlices
	}
	return ""
}

func volumeKind(o any) Kind {
	switch o.(type) {
	case *corev1.PersistentVolume:
		return PersistentVolumes
	case *corev1.PersistentVolumeClaim:
		return PersistentVolumeClaims
	case *storagev1.StorageClass:
		return StorageClasses
	case *storagev1.CSINode:
		return CSINodes
	case *storagev1.CSIDriver:
		return CSIDrivers
	case *storagev1.CSIStorageCapacity:
		return CSIStorageCapacities
	case *storagev1.VolumeAttachment:
		return VolumeAttachments
	case *resourcev1.ResourceClaim:
		return ResourceClaims
	}
	return ""
}

// NewObject returns an empty object of a kind, or nil if scheduling does not read the kind.
func NewObject(k Kind) Object {
	switch k {
	case Pods:
		return &corev1.Pod{}
	case Nodes:
		return &corev1.Node{}
	case Namespaces:
		return &corev1.Namespace{}
	case Services:
		return &corev1.Service{}
	case ReplicationControllers:
		return &corev1.ReplicationController{}
	case ReplicaSets:
		return &appsv1.ReplicaSet{}
	case StatefulSets:
		return &appsv1.StatefulSet{}
	case PodDisruptionBudgets:
		return &policyv1.PodDisruptionBudget{}
	case PriorityClasses:
		return &schedulingv1.PriorityClass{}
	case Holds:
		return &v1alpha1.Hold{}
	}
	return newVolumeObject(k)
}

func newVolumeObject(k Kind) Object {
	switch k {
	case PersistentVolumes:
		return &corev1.PersistentVolume{}
	case PersistentVolumeClaims:
		return &corev1.PersistentVolumeClaim{}
	case StorageClasses:
		return &storagev1.StorageClass{}
	case CSINodes:
		return &storagev1.CSINode{}
	case CSIDrivers:
		return &storagev1.CSIDriver{}
	case CSIStorageCapacities:
		return &storagev1.CSIStorageCapacity{}
	case VolumeAttachments:
		return &storagev1.VolumeAttachment{}
	case ResourceClaims:
		return &resourcev1.ResourceClaim{}
	}
	return nil
}
