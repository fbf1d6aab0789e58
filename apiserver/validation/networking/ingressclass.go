package networking

import (
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// maxControllerLength is the maximum length in bytes of the name of a controller.
const maxControllerLength = 250

// DefaultIngressClass sets the scope of the parameters to Cluster.
func DefaultIngressClass(c *networkingv1.IngressClass) {
	if c.Spec.Parameters != nil {
		defaulting.SetPointer(&c.Spec.Parameters.Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
	}
}

// ValidateIngressClass validates a new class.
func ValidateIngressClass(c *networkingv1.IngressClass) field.ErrorList {
	errs := checks.ObjectMeta(&c.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	path := field.NewPath("spec", "controller")
	if len(c.Spec.Controller) > maxControllerLength {
		errs = append(errs, field.TooLong(path, "", maxControllerLength))
	}
	errs = append(errs, validation.IsDomainPrefixedPath(path, c.Spec.Controller)...)
	return append(errs, validateClassParameters(c.Spec.Parameters, field.NewPath("spec", "parameters"))...)
}

// ValidateIngressClassUpdate validates an update. The controller is immutable.
func ValidateIngressClassUpdate(c, old *networkingv1.IngressClass) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checks.Immutable(c.Spec.Controller, old.Spec.Controller, field.NewPath("spec", "controller"))...)
	return append(errs, validateClassParameters(c.Spec.Parameters, field.NewPath("spec", "parameters"))...)
}

func validateClassParameters(p *networkingv1.IngressClassParametersReference, path *field.Path) (errs field.ErrorList) {
	if p == nil {
		return nil
	}
	if p.Kind == "" {
		errs = append(errs, field.Required(path.Child("kind"), "kind is required"))
	}
	if p.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "name is required"))
	}
	if p.APIGroup != nil {
		errs = append(errs, checks.DNSSubdomain(*p.APIGroup, path.Child("apiGroup"))...)
	}
	if p.Scope == nil {
		return append(errs, field.Required(path.Child("scope"), ""))
	}
	errs = append(errs, checks.OneOf(*p.Scope, path.Child("scope"), networkingv1.IngressClassParametersReferenceScopeCluster, networkingv1.IngressClassParametersReferenceScopeNamespace)...)
	isNamespaced := *p.Scope == networkingv1.IngressClassParametersReferenceScopeNamespace
	switch {
	case isNamespaced && (p.Namespace == nil || *p.Namespace == ""):
		errs = append(errs, field.Required(path.Child("namespace"), "`parameters.scope` is set to 'Namespace'"))
	case isNamespaced:
		errs = append(errs, checks.DNSLabel(*p.Namespace, path.Child("namespace"))...)
	case p.Namespace != nil:
		errs = append(errs, field.Forbidden(path.Child("namespace"), "`parameters.scope` is set to 'Cluster'"))
	}
	return errs
}
