package store

import (
	"reflect"
	"slices"

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
	Endpoints           Kind = "endpoints"
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

// types maps each kind to an empty object of its type.
var types = map[Kind]Object{
	Pods: &corev1.Pod{}, Nodes: &corev1.Node{}, Namespaces: &corev1.Namespace{}, Services: &corev1.Service{}, ReplicationControllers: &corev1.ReplicationController{},
	ReplicaSets: &appsv1.ReplicaSet{}, StatefulSets: &appsv1.StatefulSet{}, PodDisruptionBudgets: &policyv1.PodDisruptionBudget{}, PriorityClasses: &schedulingv1.PriorityClass{},
	PersistentVolumes: &corev1.PersistentVolume{}, PersistentVolumeClaims: &corev1.PersistentVolumeClaim{}, StorageClasses: &storagev1.StorageClass{},
	CSINodes: &storagev1.CSINode{}, CSIDrivers: &storagev1.CSIDriver{}, CSIStorageCapacities: &storagev1.CSIStorageCapacity{}, VolumeAttachments: &storagev1.VolumeAttachment{},
	ResourceClaims: &resourcev1.ResourceClaim{}, Holds: &v1alpha1.Hold{},
	Events: &eventsv1.Event{}, Deployments: &appsv1.Deployment{}, DaemonSets: &appsv1.DaemonSet{}, Jobs: &batchv1.Job{}, CronJobs: &batchv1.CronJob{},
	ControllerRevisions: &appsv1.ControllerRevision{}, EndpointSlices: &discoveryv1.EndpointSlice{}, Endpoints: &corev1.Endpoints{}, ConfigMaps: &corev1.ConfigMap{},
	Secrets: &corev1.Secret{}, ServiceAccounts: &corev1.ServiceAccount{}, Leases: &coordinationv1.Lease{}, CoreEvents: &corev1.Event{},
}

// clusterScoped are the kinds without a namespace.
var clusterScoped = []Kind{Nodes, Namespaces, PriorityClasses, PersistentVolumes, StorageClasses, CSINodes, CSIDrivers, VolumeAttachments}

// IsNamespaced reports whether the objects of a kind have a namespace.
func IsNamespaced(k Kind) bool { return !slices.Contains(clusterScoped, k) }

var kindsByType = func() map[reflect.Type]Kind {
	out := map[reflect.Type]Kind{}
	for k, o := range types {
		out[reflect.TypeOf(o)] = k
	}
	return out
}()

// KindOf returns the kind of an object, or "" if the store does not hold it.
func KindOf(o any) Kind { return kindsByType[reflect.TypeOf(o)] }
