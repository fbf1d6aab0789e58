package validation

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/berthproject/berth/api/v1alpha1"
)

// Hooks are the functions of a kind in the form that the table of kinds uses. nil hooks are not
// called. Objects must be of the kind's Go type.
type Hooks struct {
	Default                        func(obj runtime.Object)
	PrepareCreate                  func(ctx context.Context, obj runtime.Object)
	PrepareUpdate, PrepareStatus   func(ctx context.Context, obj, old runtime.Object)
	Validate                       func(ctx context.Context, obj runtime.Object) field.ErrorList
	ValidateUpdate, ValidateStatus func(ctx context.Context, obj, old runtime.Object) field.ErrorList
	Warnings                       func(ctx context.Context, obj, old runtime.Object) []string
}

// HooksFor returns the hooks of a kind. It returns false if there are none.
func HooksFor(kind schema.GroupKind) (Hooks, bool) {
	for _, group := range []func(schema.GroupKind) (Hooks, bool){coreHooks, workloadHooks, serviceHooks, storageHooks, rbacHooks, deviceHooks, otherHooks} {
		if hooks, found := group(kind); found {
			return hooks, true
		}
	}
	return Hooks{}, false
}

// typedHooks are the hooks of a kind, for its Go type.
type typedHooks[T runtime.Object] struct {
	Default                        func(T)
	PrepareCreate                  func(T)
	PrepareUpdate, PrepareStatus   func(obj, old T)
	Validate                       func(T) field.ErrorList
	ValidateUpdate, ValidateStatus func(obj, old T) field.ErrorList
	Warnings                       func(ctx context.Context, obj, old T) []string
}

func (r typedHooks[T]) hooks() (Hooks, bool) {
	var h Hooks
	if r.Default != nil {
		h.Default = func(obj runtime.Object) { r.Default(obj.(T)) }
	}
	if r.PrepareCreate != nil {
		h.PrepareCreate = func(_ context.Context, obj runtime.Object) { r.PrepareCreate(obj.(T)) }
	}
	h.PrepareUpdate, h.PrepareStatus = adaptUpdate(r.PrepareUpdate), adaptUpdate(r.PrepareStatus)
	if r.Validate != nil {
		h.Validate = func(_ context.Context, obj runtime.Object) field.ErrorList { return r.Validate(obj.(T)) }
	}
	h.ValidateUpdate, h.ValidateStatus = adaptValidateUpdate(r.ValidateUpdate), adaptValidateUpdate(r.ValidateStatus)
	if r.Warnings != nil {
		h.Warnings = func(ctx context.Context, obj, old runtime.Object) []string {
			before, _ := old.(T)
			return r.Warnings(ctx, obj.(T), before)
		}
	}
	return h, true
}

func adaptUpdate[T runtime.Object](rule func(obj, old T)) func(context.Context, runtime.Object, runtime.Object) {
	if rule == nil {
		return nil
	}
	return func(_ context.Context, obj, old runtime.Object) { rule(obj.(T), old.(T)) }
}

func adaptValidateUpdate[T runtime.Object](rule func(obj, old T) field.ErrorList) func(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	if rule == nil {
		return nil
	}
	return func(_ context.Context, obj, old runtime.Object) field.ErrorList { return rule(obj.(T), old.(T)) }
}

func coreHooks(kind schema.GroupKind) (Hooks, bool) {
	if kind.Group != corev1.GroupName {
		return Hooks{}, false
	}
	switch kind.Kind {
	case "Node":
		return typedHooks[*corev1.Node]{Default: DefaultNode, PrepareCreate: PrepareNodeForCreate, PrepareUpdate: PrepareNodeForUpdate,
			PrepareStatus: PrepareNodeStatusUpdate, Validate: ValidateNode,
			ValidateUpdate: ValidateNodeUpdate, ValidateStatus: ValidateNodeStatusUpdate, Warnings: NodeWarnings}.hooks()
	case "Namespace":
		return typedHooks[*corev1.Namespace]{Default: DefaultNamespace, PrepareCreate: PrepareNamespaceForCreate, PrepareUpdate: PrepareNamespaceForUpdate,
			Validate: ValidateNamespace, ValidateUpdate: ValidateNamespaceUpdate, ValidateStatus: ValidateNamespaceStatusUpdate}.hooks()
	case "ConfigMap":
		return typedHooks[*corev1.ConfigMap]{Validate: ValidateConfigMap, ValidateUpdate: ValidateConfigMapUpdate}.hooks()
	case "Secret":
		return typedHooks[*corev1.Secret]{Default: DefaultSecret, PrepareUpdate: PrepareSecretForUpdate, Validate: ValidateSecret, ValidateUpdate: ValidateSecretUpdate}.hooks()
	case "ServiceAccount":
		return typedHooks[*corev1.ServiceAccount]{PrepareCreate: PrepareServiceAccountForCreate, PrepareUpdate: PrepareServiceAccountForUpdate,
			Validate: ValidateServiceAccount, ValidateUpdate: ValidateServiceAccountUpdate}.hooks()
	case "Event":
		return Hooks{
			Validate: func(ctx context.Context, obj runtime.Object) field.ErrorList {
				return ValidateEvent(obj.(*corev1.Event), requestVersion(ctx))
			},
			ValidateUpdate: func(ctx context.Context, obj, old runtime.Object) field.ErrorList {
				return ValidateEventUpdate(obj.(*corev1.Event), old.(*corev1.Event), requestVersion(ctx))
			},
		}, true
	}
	return Hooks{}, false
}

// requestVersion returns the group and version of the request, core/v1 outside of requests.
func requestVersion(ctx context.Context) schema.GroupVersion {
	if info, found := genericapirequest.RequestInfoFrom(ctx); found {
		return schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	}
	return corev1.SchemeGroupVersion
}

func workloadHooks(kind schema.GroupKind) (Hooks, bool) {
	switch kind {
	case appsv1.SchemeGroupVersion.WithKind("ReplicaSet").GroupKind():
		return typedHooks[*appsv1.ReplicaSet]{DefaultReplicaSet, PrepareReplicaSetForCreate, PrepareReplicaSetForUpdate, nil,
			ValidateReplicaSet, ValidateReplicaSetUpdate, ValidateReplicaSetStatusUpdate, ReplicaSetWarnings}.hooks()
	case appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind():
		return typedHooks[*appsv1.Deployment]{DefaultDeployment, PrepareDeploymentForCreate, PrepareDeploymentForUpdate, PrepareDeploymentStatusUpdate,
			ValidateDeployment, ValidateDeploymentUpdate, ValidateDeploymentStatusUpdate, DeploymentWarnings}.hooks()
	case appsv1.SchemeGroupVersion.WithKind("StatefulSet").GroupKind():
		return typedHooks[*appsv1.StatefulSet]{DefaultStatefulSet, PrepareStatefulSetForCreate, PrepareStatefulSetForUpdate, nil,
			ValidateStatefulSet, ValidateStatefulSetUpdate, ValidateStatefulSetStatusUpdate, StatefulSetWarnings}.hooks()
	case appsv1.SchemeGroupVersion.WithKind("DaemonSet").GroupKind():
		return typedHooks[*appsv1.DaemonSet]{DefaultDaemonSet, PrepareDaemonSetForCreate, PrepareDaemonSetForUpdate, PrepareDaemonSetStatusUpdate,
			ValidateDaemonSet, ValidateDaemonSetUpdate, ValidateDaemonSetStatusUpdate, DaemonSetWarnings}.hooks()
	case appsv1.SchemeGroupVersion.WithKind("ControllerRevision").GroupKind():
		return typedHooks[*appsv1.ControllerRevision]{Validate: ValidateControllerRevision, ValidateUpdate: ValidateControllerRevisionUpdate}.hooks()
	case corev1.SchemeGroupVersion.WithKind("ReplicationController").GroupKind():
		return typedHooks[*corev1.ReplicationController]{DefaultReplicationController, PrepareReplicationControllerForCreate, PrepareReplicationControllerForUpdate, nil,
			ValidateReplicationController, ValidateReplicationControllerUpdate, ValidateReplicationControllerStatusUpdate, ReplicationControllerWarnings}.hooks()
	case batchv1.SchemeGroupVersion.WithKind("Job").GroupKind():
		return typedHooks[*batchv1.Job]{DefaultJob, PrepareJobForCreate, PrepareJobForUpdate, nil,
			ValidateJob, ValidateJobUpdate, ValidateJobStatusUpdate, JobWarnings}.hooks()
	case batchv1.SchemeGroupVersion.WithKind("CronJob").GroupKind():
		return typedHooks[*batchv1.CronJob]{Default: DefaultCronJob, PrepareCreate: PrepareCronJobForCreate, PrepareUpdate: PrepareCronJobForUpdate,
			Validate: ValidateCronJob, ValidateUpdate: ValidateCronJobUpdate, Warnings: CronJobWarnings}.hooks()
	}
	return Hooks{}, false
}

func otherHooks(kind schema.GroupKind) (Hooks, bool) {
	switch kind {
	case v1alpha1.GroupVersion.WithKind("Hold").GroupKind():
		return typedHooks[*v1alpha1.Hold]{Default: DefaultHold, Validate: ValidateHold, ValidateUpdate: ValidateHoldUpdate}.hooks()
	case schedulingv1.SchemeGroupVersion.WithKind("PriorityClass").GroupKind():
		return typedHooks[*schedulingv1.PriorityClass]{Default: DefaultPriorityClass, Validate: ValidatePriorityClass, ValidateUpdate: ValidatePriorityClassUpdate}.hooks()
	case policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget").GroupKind():
		return typedHooks[*policyv1.PodDisruptionBudget]{Validate: ValidatePodDisruptionBudget, ValidateUpdate: ValidatePodDisruptionBudgetUpdate,
			ValidateStatus: ValidatePodDisruptionBudgetStatusUpdate}.hooks()
	case corev1.SchemeGroupVersion.WithKind("ResourceQuota").GroupKind():
		return typedHooks[*corev1.ResourceQuota]{Default: DefaultResourceQuota, Validate: ValidateResourceQuota,
			ValidateUpdate: ValidateResourceQuotaUpdate, ValidateStatus: ValidateResourceQuotaStatusUpdate}.hooks()
	case corev1.SchemeGroupVersion.WithKind("LimitRange").GroupKind():
		return typedHooks[*corev1.LimitRange]{Default: DefaultLimitRange, Validate: ValidateLimitRange, ValidateUpdate: ValidateLimitRangeUpdate}.hooks()
	case corev1.SchemeGroupVersion.WithKind("PodTemplate").GroupKind():
		return typedHooks[*corev1.PodTemplate]{Default: DefaultPodTemplate, PrepareCreate: PreparePodTemplateForCreate, PrepareUpdate: PreparePodTemplateForUpdate,
			Validate: ValidatePodTemplate, ValidateUpdate: ValidatePodTemplateUpdate, Warnings: PodTemplateWarnings}.hooks()
	case nodev1.SchemeGroupVersion.WithKind("RuntimeClass").GroupKind():
		return typedHooks[*nodev1.RuntimeClass]{Validate: ValidateRuntimeClass, ValidateUpdate: ValidateRuntimeClassUpdate}.hooks()
	case coordinationv1.SchemeGroupVersion.WithKind("Lease").GroupKind():
		return typedHooks[*coordinationv1.Lease]{PrepareCreate: PrepareLeaseForCreate, PrepareUpdate: PrepareLeaseForUpdate,
			Validate: ValidateLease, ValidateUpdate: ValidateLeaseUpdate}.hooks()
	}
	return Hooks{}, false
}

func serviceHooks(kind schema.GroupKind) (Hooks, bool) {
	switch kind {
	case corev1.SchemeGroupVersion.WithKind("Service").GroupKind():
		return typedHooks[*corev1.Service]{Default: DefaultService, PrepareCreate: PrepareServiceForCreate, PrepareUpdate: PrepareServiceForUpdate,
			Validate: ValidateService, ValidateUpdate: ValidateServiceUpdate, ValidateStatus: ValidateServiceStatusUpdate, Warnings: ServiceWarnings}.hooks()
	case corev1.SchemeGroupVersion.WithKind("Endpoints").GroupKind():
		return typedHooks[*corev1.Endpoints]{Default: DefaultEndpoints, Validate: ValidateEndpoints, ValidateUpdate: ValidateEndpointsUpdate}.hooks()
	case discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice").GroupKind():
		return typedHooks[*discoveryv1.EndpointSlice]{Default: DefaultEndpointSlice, PrepareCreate: PrepareEndpointSliceForCreate,
			PrepareUpdate: PrepareEndpointSliceForUpdate, Validate: ValidateEndpointSlice, ValidateUpdate: ValidateEndpointSliceUpdate}.hooks()
	}
	return Hooks{}, false
}

func storageHooks(kind schema.GroupKind) (Hooks, bool) {
	switch kind {
	case corev1.SchemeGroupVersion.WithKind("PersistentVolume").GroupKind():
		return typedHooks[*corev1.PersistentVolume]{DefaultPersistentVolume, PreparePersistentVolumeForCreate, nil, PreparePersistentVolumeStatusUpdate,
			ValidatePersistentVolume, ValidatePersistentVolumeUpdate, ValidatePersistentVolumeStatusUpdate, PersistentVolumeWarnings}.hooks()
	case corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim").GroupKind():
		return typedHooks[*corev1.PersistentVolumeClaim]{DefaultPersistentVolumeClaim, PreparePersistentVolumeClaimForCreate, PreparePersistentVolumeClaimForUpdate, nil,
			ValidatePersistentVolumeClaim, ValidatePersistentVolumeClaimUpdate, ValidatePersistentVolumeClaimStatusUpdate, PersistentVolumeClaimWarnings}.hooks()
	case storagev1.SchemeGroupVersion.WithKind("CSIDriver").GroupKind():
		return typedHooks[*storagev1.CSIDriver]{Default: DefaultCSIDriver, Validate: ValidateCSIDriver, ValidateUpdate: ValidateCSIDriverUpdate}.hooks()
	case storagev1.SchemeGroupVersion.WithKind("CSINode").GroupKind():
		return typedHooks[*storagev1.CSINode]{Validate: ValidateCSINode, ValidateUpdate: ValidateCSINodeUpdate}.hooks()
	case storagev1.SchemeGroupVersion.WithKind("CSIStorageCapacity").GroupKind():
		return typedHooks[*storagev1.CSIStorageCapacity]{Validate: ValidateCSIStorageCapacity, ValidateUpdate: ValidateCSIStorageCapacityUpdate}.hooks()
	case storagev1.SchemeGroupVersion.WithKind("VolumeAttachment").GroupKind():
		return typedHooks[*storagev1.VolumeAttachment]{Validate: ValidateVolumeAttachment, ValidateUpdate: ValidateVolumeAttachmentUpdate,
			ValidateStatus: ValidateVolumeAttachmentStatusUpdate}.hooks()
	case storagev1.SchemeGroupVersion.WithKind("StorageClass").GroupKind():
		return typedHooks[*storagev1.StorageClass]{Default: DefaultStorageClass, Validate: ValidateStorageClass,
			ValidateUpdate: ValidateStorageClassUpdate, Warnings: StorageClassWarnings}.hooks()
	}
	return Hooks{}, false
}

func deviceHooks(kind schema.GroupKind) (Hooks, bool) {
	if kind.Group != resourcev1.GroupName {
		return Hooks{}, false
	}
	switch kind.Kind {
	case "ResourceClaim":
		return typedHooks[*resourcev1.ResourceClaim]{Default: DefaultResourceClaim, Validate: ValidateResourceClaim,
			ValidateUpdate: ValidateResourceClaimUpdate, ValidateStatus: ValidateResourceClaimStatusUpdate}.hooks()
	case "ResourceClaimTemplate":
		return typedHooks[*resourcev1.ResourceClaimTemplate]{Default: DefaultResourceClaimTemplate, Validate: ValidateResourceClaimTemplate,
			ValidateUpdate: ValidateResourceClaimTemplateUpdate}.hooks()
	case "DeviceClass":
		return typedHooks[*resourcev1.DeviceClass]{Validate: ValidateDeviceClass, ValidateUpdate: ValidateDeviceClassUpdate}.hooks()
	case "ResourceSlice":
		return typedHooks[*resourcev1.ResourceSlice]{Validate: ValidateResourceSlice, ValidateUpdate: ValidateResourceSliceUpdate}.hooks()
	}
	return Hooks{}, false
}
