package networking

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// ValidateIPAddress validates a new address. Its name is the address in canonical form.
func ValidateIPAddress(a *networkingv1.IPAddress) field.ErrorList {
	errs := checks.ObjectMeta(&a.ObjectMeta, false, func(name string, _ bool) []string {
		var msgs []string
		for _, err := range validation.IsValidIP(nil, name) {
			msgs = append(msgs, err.Detail)
		}
		return msgs
	})
	path := field.NewPath("spec", "parentRef")
	ref := a.Spec.ParentRef
	if ref == nil {
		return append(errs, field.Required(path, ""))
	}
	if ref.Resource == "" {
		errs = append(errs, field.Required(path.Child("resource"), ""))
	}
	if ref.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	return errs
}

// ValidateIPAddressUpdate validates an update. The parent is immutable.
func ValidateIPAddressUpdate(a, old *networkingv1.IPAddress) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&a.ObjectMeta, &old.ObjectMeta)
	return append(errs, checks.Immutable(a.Spec.ParentRef, old.Spec.ParentRef, field.NewPath("spec", "parentRef"))...)
}
