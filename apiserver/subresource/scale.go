package subresource

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// scaleFields are the fields of a workload that a Scale shows. The caller may set replicas.
type scaleFields struct {
	replicas *int32
	current  int32
	selector string
}

// ScaleREST serves the scale subresource of a workload.
type ScaleREST struct {
	store *registry.Store
	// version is the API version of the workload in the managed fields of its replicas.
	version schema.GroupVersion
}

var (
	_ rest.Patcher                  = &ScaleREST{}
	_ rest.GroupVersionKindProvider = &ScaleREST{}
	_ rest.TableConvertor           = &ScaleREST{}
)

// NewScaleREST returns the scale subresource of ReplicaSet, Deployment, StatefulSet or
// ReplicationController.
func NewScaleREST(store *registry.Store, version schema.GroupVersion) *ScaleREST {
	return &ScaleREST{store: store, version: version}
}

// scaleFieldsOf returns the replicas and the selector of a workload. As in Kubernetes, a missing
// spec.replicas counts as 0; stored objects always have it.
func scaleFieldsOf(obj runtime.Object) (scaleFields, error) {
	var spec **int32
	var current int32
	var selector *metav1.LabelSelector
	switch w := obj.(type) {
	case *appsv1.ReplicaSet:
		spec, current, selector = &w.Spec.Replicas, w.Status.Replicas, w.Spec.Selector
	case *appsv1.Deployment:
		spec, current, selector = &w.Spec.Replicas, w.Status.Replicas, w.Spec.Selector
	case *appsv1.StatefulSet:
		spec, current, selector = &w.Spec.Replicas, w.Status.Replicas, w.Spec.Selector
	case *corev1.ReplicationController:
		spec, current = &w.Spec.Replicas, w.Status.Replicas
		selector = &metav1.LabelSelector{MatchLabels: w.Spec.Selector}
	default:
		return scaleFields{}, fmt.Errorf("%T has no scale", obj)
	}
	if *spec == nil {
		*spec = new(int32)
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return scaleFields{}, err
	}
	if s.Empty() {
		s = labels.Everything()
	}
	return scaleFields{replicas: *spec, current: current, selector: s.String()}, nil
}

// GroupVersionKind returns Scale in autoscaling/v1.
func (r *ScaleREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

// New implements rest.Storage.
func (r *ScaleREST) New() runtime.Object { return &autoscalingv1.Scale{} }

// Destroy does nothing: the workload owns the store.
func (r *ScaleREST) Destroy() {}

// Get returns the scale of a workload.
func (r *ScaleREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := r.store.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return r.toScale(obj)
}

// Update sets the replicas of an existing workload.
func (r *ScaleREST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	obj, _, err := r.store.Update(ctx, name, &scaleUpdate{scale: r, name: name, info: info},
		r.validateAsScale(create), r.validateUpdateAsScale(update), false, options)
	if err != nil {
		return nil, false, err
	}
	scale, err := r.toScale(obj)
	return scale, false, err
}

// ConvertToTable implements rest.TableConvertor, for `kubectl get --subresource=scale`.
func (r *ScaleREST) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return rest.NewDefaultTableConvertor(r.store.DefaultQualifiedResource).ConvertToTable(ctx, object, options)
}

// toScale returns the Scale of a workload. The caller may modify it.
func (r *ScaleREST) toScale(obj runtime.Object) (*autoscalingv1.Scale, error) {
	fields, err := scaleFieldsOf(obj)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	managed, err := r.handler(accessor).ToSubresource()
	if err != nil {
		return nil, err
	}
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: accessor.GetName(), Namespace: accessor.GetNamespace(), UID: accessor.GetUID(),
			ResourceVersion: accessor.GetResourceVersion(), CreationTimestamp: accessor.GetCreationTimestamp(),
			ManagedFields: managed,
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: *fields.replicas},
		Status: autoscalingv1.ScaleStatus{Replicas: fields.current, Selector: fields.selector},
	}, nil
}

// handler converts the managed fields of spec.replicas between workload and Scale.
func (r *ScaleREST) handler(workload metav1.Object) *managedfields.ScaleHandler {
	path := fieldpath.MakePathOrDie("spec", "replicas")
	return managedfields.NewScaleHandler(workload.GetManagedFields(), r.version, managedfields.ResourcePathMappings{r.version.String(): path})
}

func (r *ScaleREST) validateAsScale(validate rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		scale, err := r.toScale(obj)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		return validate(ctx, scale)
	}
}

func (r *ScaleREST) validateUpdateAsScale(validate rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, obj, old runtime.Object) error {
		scale, err := r.toScale(obj)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		oldScale, err := r.toScale(old)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		return validate(ctx, scale, oldScale)
	}
}

// scaleUpdate converts an update of a Scale to an update of the workload.
type scaleUpdate struct {
	scale *ScaleREST
	name  string
	info  rest.UpdatedObjectInfo
}

// Preconditions returns the preconditions of the request. The UID of a Scale is that of the
// workload.
func (u *scaleUpdate) Preconditions() *metav1.Preconditions { return u.info.Preconditions() }

// UpdatedObject applies the request to the Scale of old and the result to a copy of old.
func (u *scaleUpdate) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	workload := old.DeepCopyObject()
	accessor, err := meta.Accessor(workload)
	if err != nil {
		return nil, err
	}
	if accessor.GetResourceVersion() == "" || accessor.GetResourceVersion() == "0" {
		return nil, apierrors.NewNotFound(u.scale.store.DefaultQualifiedResource, u.name)
	}
	oldScale, err := u.scale.toScale(workload)
	if err != nil {
		return nil, err
	}
	updated, err := u.info.UpdatedObject(ctx, oldScale)
	if err != nil {
		return nil, err
	}
	scale, ok := updated.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("want a Scale, got %T", updated))
	}
	if errs := validateScale(scale); len(errs) > 0 {
		return nil, apierrors.NewInvalid(autoscalingv1.SchemeGroupVersion.WithKind("Scale").GroupKind(), u.name, errs)
	}
	return workload, u.apply(workload, accessor, scale)
}

func (u *scaleUpdate) apply(workload runtime.Object, accessor metav1.Object, scale *autoscalingv1.Scale) error {
	resource := u.scale.store.DefaultQualifiedResource
	if scale.ResourceVersion != "" && scale.ResourceVersion != accessor.GetResourceVersion() {
		return apierrors.NewConflict(resource, u.name, fmt.Errorf(registry.OptimisticLockErrorMsg))
	}
	managed, err := u.scale.handler(accessor).ToParent(scale.ManagedFields)
	if err != nil {
		return err
	}
	target, err := scaleFieldsOf(workload)
	if err != nil {
		return err
	}
	*target.replicas = scale.Spec.Replicas
	accessor.SetManagedFields(managed)
	return nil
}

func validateScale(scale *autoscalingv1.Scale) field.ErrorList {
	errs := validation.ValidateObjectMeta(&scale.ObjectMeta, true, validation.NameIsDNSSubdomain, field.NewPath("metadata"))
	if scale.Spec.Replicas < 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "replicas"), scale.Spec.Replicas, validation.IsNegativeErrorMsg))
	}
	return errs
}
