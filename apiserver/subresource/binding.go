package subresource

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"
)

var bindingResource = corev1.Resource("pods/binding")

// BindingREST serves pods/binding: it sets the node of a pod.
type BindingREST struct {
	pods *registry.Store
}

var (
	_ rest.NamedCreater                   = &BindingREST{}
	_ rest.SubresourceObjectMetaPreserver = &BindingREST{}
	_ rest.Scoper                         = &LegacyBindingREST{}
	_ rest.Creater                        = &LegacyBindingREST{}
)

// NewBindingREST returns the storage of pods/binding.
func NewBindingREST(pods *registry.Store) *BindingREST { return &BindingREST{pods: pods} }

// New implements rest.Storage.
func (b *BindingREST) New() runtime.Object { return &corev1.Binding{} }

// Destroy does nothing: the pods own the store.
func (b *BindingREST) Destroy() {}

// PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate keeps the uid and resourceVersion of the
// request, which are preconditions.
func (b *BindingREST) PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate() bool { return true }

// Create binds the named pod. It returns a conflict if the pod is already bound (even to the same
// node), is being deleted or has scheduling gates.
func (b *BindingREST) Create(ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	binding, ok := obj.(*corev1.Binding)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("want a Binding, got %T", obj))
	}
	if name != binding.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if errs := validateBinding(binding); len(errs) > 0 {
		return nil, errs.ToAggregate() // as in Kubernetes, 500 and not 422
	}
	if validate != nil {
		if err := validate(ctx, binding.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if err := b.assignPod(ctx, binding, dryrun.IsDryRun(options.DryRun)); err != nil {
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}, nil
}

func validateBinding(binding *corev1.Binding) field.ErrorList {
	var errs field.ErrorList
	if kind := binding.Target.Kind; kind != "" && kind != "Node" {
		errs = append(errs, field.NotSupported(field.NewPath("target", "kind"), kind, []string{"Node", "<empty>"}))
	}
	if binding.Target.Name == "" {
		errs = append(errs, field.Required(field.NewPath("target", "name"), ""))
	}
	return errs
}

// assignPod sets the node directly in the store, without the update strategy and admission of pods.
func (b *BindingREST) assignPod(ctx context.Context, binding *corev1.Binding, dryRun bool) error {
	key, err := b.pods.KeyFunc(ctx, binding.Name)
	if err != nil {
		return err
	}
	preconditions := &storage.Preconditions{}
	if binding.UID != "" {
		preconditions.UID = &binding.UID
	}
	if binding.ResourceVersion != "" {
		preconditions.ResourceVersion = &binding.ResourceVersion
	}
	err = b.pods.Storage.GuaranteedUpdate(ctx, key, b.pods.New(), false, preconditions,
		storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
			pod, ok := obj.(*corev1.Pod)
			if !ok {
				return nil, fmt.Errorf("want a Pod at %s, got %T", key, obj)
			}
			return pod, setPodNode(pod, binding)
		}), dryRun, nil)
	if storage.IsInvalidObj(err) {
		return apierrors.NewConflict(corev1.Resource("pods"), binding.Name, err)
	}
	if err = storeerr.InterpretGetError(err, corev1.Resource("pods"), binding.Name); err == nil {
		return nil
	}
	err = storeerr.InterpretUpdateError(err, corev1.Resource("pods"), binding.Name)
	if _, isStatus := err.(apierrors.APIStatus); isStatus {
		return err
	}
	return apierrors.NewConflict(bindingResource, binding.Name, err)
}

// setPodNode applies the binding to the pod, or returns the reason why the pod cannot be bound.
func setPodNode(pod *corev1.Pod, binding *corev1.Binding) error {
	switch {
	case pod.DeletionTimestamp != nil:
		return fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return fmt.Errorf("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) != 0:
		return fmt.Errorf("pod %v has non-empty .spec.schedulingGates", pod.Name)
	}
	pod.Spec.NodeName = binding.Target.Name
	pod.Status.NominatedNodeName = ""
	pod.Annotations = mergeMap(pod.Annotations, binding.Annotations)
	pod.Labels = mergeMap(pod.Labels, binding.Labels)
	setScheduled(pod)
	return nil
}

func mergeMap(to, from map[string]string) map[string]string {
	if to == nil && len(from) > 0 {
		to = make(map[string]string, len(from))
	}
	maps.Copy(to, from)
	return to
}

// setScheduled sets the PodScheduled condition to true.
func setScheduled(pod *corev1.Pod) {
	condition := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
	for i, old := range pod.Status.Conditions {
		if old.Type != corev1.PodScheduled {
			continue
		}
		if old.Status == corev1.ConditionTrue {
			condition.LastTransitionTime = old.LastTransitionTime
		}
		pod.Status.Conditions[i] = condition
		return
	}
	pod.Status.Conditions = append(pod.Status.Conditions, condition)
}

// LegacyBindingREST serves POST bindings, with the name of the pod in the body.
type LegacyBindingREST struct {
	*BindingREST
}

// NewLegacyBindingREST returns the storage of the resource "bindings".
func NewLegacyBindingREST(pods *registry.Store) *LegacyBindingREST {
	return &LegacyBindingREST{BindingREST: NewBindingREST(pods)}
}

// NamespaceScoped implements rest.Scoper.
func (b *LegacyBindingREST) NamespaceScoped() bool { return true }

// GetSingularName implements rest.SingularNameProvider.
func (b *LegacyBindingREST) GetSingularName() string { return "binding" }

// Create binds the pod that the body names.
func (b *LegacyBindingREST) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	binding, ok := obj.(*corev1.Binding)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("want a Binding, got %T", obj))
	}
	return b.BindingREST.Create(ctx, binding.Name, obj, validate, options)
}
