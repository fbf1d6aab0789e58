package subresource

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"
)

// DeleteNamespace sets a namespace to Terminating. The namespace is removed once spec.finalizers is
// empty, which the namespace controller does after it has deleted the content. A namespace without
// finalizers is removed immediately.
func DeleteNamespace(ctx context.Context, store *registry.Store, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	obj, err := store.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	namespace := obj.(*corev1.Namespace)
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	if err := setNamespacePreconditions(namespace, options); err != nil {
		return nil, false, err
	}
	if namespace.DeletionTimestamp.IsZero() {
		return terminate(ctx, store, namespace, validate, options)
	}
	if len(namespace.Spec.Finalizers) != 0 {
		return namespace, false, nil
	}
	return store.Delete(ctx, name, validate, options)
}

// setNamespacePreconditions makes the deletion conditional on the namespace that was read.
func setNamespacePreconditions(namespace *corev1.Namespace, options *metav1.DeleteOptions) error {
	if options.Preconditions == nil {
		options.Preconditions = &metav1.Preconditions{}
	}
	if options.Preconditions.UID == nil {
		options.Preconditions.UID = &namespace.UID
	} else if *options.Preconditions.UID != namespace.UID {
		return apierrors.NewConflict(corev1.Resource("namespaces"), namespace.Name,
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", *options.Preconditions.UID, namespace.UID)) //nolint:staticcheck // kube-apiserver's text
	}
	if rv := options.Preconditions.ResourceVersion; rv != nil && *rv != namespace.ResourceVersion {
		return apierrors.NewConflict(corev1.Resource("namespaces"), namespace.Name,
			fmt.Errorf("Precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v", *rv, namespace.ResourceVersion)) //nolint:staticcheck // kube-apiserver's text
	}
	return nil
}

// terminate sets the deletion timestamp and the phase Terminating in the store.
func terminate(ctx context.Context, store *registry.Store, namespace *corev1.Namespace, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	key, err := store.KeyFunc(ctx, namespace.Name)
	if err != nil {
		return nil, false, err
	}
	preconditions := &storage.Preconditions{UID: options.Preconditions.UID, ResourceVersion: options.Preconditions.ResourceVersion}
	out := store.New()
	err = store.Storage.GuaranteedUpdate(ctx, key, out, false, preconditions,
		storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
			current, ok := obj.(*corev1.Namespace)
			if !ok {
				return nil, fmt.Errorf("want a Namespace at %s, got %T", key, obj)
			}
			if err := validate(ctx, current); err != nil {
				return nil, err
			}
			setTerminating(current, options)
			return current, nil
		}), dryrun.IsDryRun(options.DryRun), nil)
	if err != nil {
		err = storeerr.InterpretGetError(err, corev1.Resource("namespaces"), namespace.Name)
		err = storeerr.InterpretUpdateError(err, corev1.Resource("namespaces"), namespace.Name)
		return nil, false, err
	}
	return out, false, nil
}

func setTerminating(namespace *corev1.Namespace, options *metav1.DeleteOptions) {
	if namespace.DeletionTimestamp.IsZero() {
		now := metav1.Now()
		namespace.DeletionTimestamp = &now
	}
	namespace.Status.Phase = corev1.NamespaceTerminating
	orphan := options.OrphanDependents != nil && *options.OrphanDependents //nolint:staticcheck // the deprecated API is still served
	if orphan && !slices.Contains(namespace.Finalizers, metav1.FinalizerOrphanDependents) {
		namespace.Finalizers = append(namespace.Finalizers, metav1.FinalizerOrphanDependents)
	}
}

// KeepNamespaceUntilFinalized configures the store to remove a terminating namespace on update only
// if spec.finalizers is empty, too.
func KeepNamespaceUntilFinalized(store *registry.Store) error {
	store.ShouldDeleteDuringUpdate = func(_ context.Context, _ string, obj, _ runtime.Object) bool {
		namespace, ok := obj.(*corev1.Namespace)
		return ok && len(namespace.Spec.Finalizers) == 0
	}
	return nil
}
