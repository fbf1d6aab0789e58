package podvalidation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// ValidateObjectMeta validates object metadata. Like kube-apiserver v1.36, it differs from
// apimachinery's in two ways. Unqualified finalizers must be one of the three standard finalizers.
// Errors of owner references name the list as an invalid value.
func ValidateObjectMeta(meta *metav1.ObjectMeta, namespaced bool, name apivalidation.ValidateNameFunc, path *field.Path) field.ErrorList {
	var r errorCollector
	base := *meta
	base.OwnerReferences, base.Finalizers, base.ManagedFields = nil, nil, nil
	r.add(apivalidation.ValidateObjectMeta(&base, namespaced, name, path)...)
	r.validateOwnerReferences(meta.OwnerReferences, path.Child("ownerReferences"))
	r.add(apivalidation.ValidateFinalizers(meta.Finalizers, path.Child("finalizers"))...)
	r.add(unversioned.ValidateManagedFields(meta.ManagedFields, path.Child("managedFields"))...)
	for i, finalizer := range meta.Finalizers {
		r.add(ValidateUnqualifiedFinalizer(finalizer, path.Child("finalizers").Index(i))...)
	}
	return r.errs
}

func (c *errorCollector) validateOwnerReferences(owners []metav1.OwnerReference, path *field.Path) {
	controller := ""
	for _, owner := range owners {
		kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
		if kind.Version == "" {
			c.invalid(path.Child("apiVersion"), owner.APIVersion, "version must not be empty")
		}
		for _, f := range []struct{ name, value string }{
			{"kind", owner.Kind}, {"name", owner.Name}, {"uid", string(owner.UID)},
		} {
			if f.value == "" {
				c.invalid(path.Child(f.name), f.value, "must not be empty")
			}
		}
		if _, ok := apivalidation.BannedOwners[kind]; ok {
			c.invalid(path, owner, fmt.Sprintf("%s is disallowed from being an owner", kind))
		}
		if !podfields.Deref(owner.Controller) {
			continue
		}
		name := owner.Kind + "/" + owner.Name
		if controller != "" {
			c.invalid(path, owners, fmt.Sprintf(
				"Only one reference can have Controller set to true. Found \"true\" in references for %s and %s", controller, name))
		} else {
			controller = name
		}
	}
}

// ValidateUnqualifiedFinalizer requires an unqualified finalizer to be one of the three standard ones.
func ValidateUnqualifiedFinalizer(name string, path *field.Path) field.ErrorList {
	if strings.Contains(name, "/") {
		return nil
	}
	switch name {
	case string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents:
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")}
}
