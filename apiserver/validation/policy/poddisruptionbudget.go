package policy

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// ValidatePodDisruptionBudget validates a new budget. Both limits and the selector are optional.
func ValidatePodDisruptionBudget(b *policyv1.PodDisruptionBudget) field.ErrorList {
	return validateBudgetSpec(&b.Spec, false)
}

// ValidatePodDisruptionBudgetUpdate validates an update. All fields are mutable.
func ValidatePodDisruptionBudgetUpdate(b, old *policyv1.PodDisruptionBudget) field.ErrorList {
	return validateBudgetSpec(&b.Spec, old.Spec.Selector != nil && metavalidation.LabelSelectorHasInvalidLabelValue(old.Spec.Selector))
}

func validateBudgetSpec(spec *policyv1.PodDisruptionBudgetSpec, allowInvalidLabels bool) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		// kube-apiserver prints its internal type.
		printable := struct {
			MinAvailable               *intstr.IntOrString
			Selector                   *metav1.LabelSelector
			MaxUnavailable             *intstr.IntOrString
			UnhealthyPodEvictionPolicy *policyv1.UnhealthyPodEvictionPolicyType
		}{spec.MinAvailable, spec.Selector, spec.MaxUnavailable, spec.UnhealthyPodEvictionPolicy}
		errs = append(errs, field.Invalid(path, printable, "minAvailable and maxUnavailable cannot be both set"))
	}
	validateLimit := func(value *intstr.IntOrString, name string) {
		if value != nil {
			errs = append(errs, checks.CountOrPercent(*value, path.Child(name))...)
			errs = append(errs, checks.NotAbove100Percent(*value, path.Child(name))...)
		}
	}
	validateLimit(spec.MinAvailable, "minAvailable")
	validateLimit(spec.MaxUnavailable, "maxUnavailable")
	errs = append(errs, checks.LabelSelector(spec.Selector, allowInvalidLabels, path.Child("selector"))...)
	if p := spec.UnhealthyPodEvictionPolicy; p != nil {
		errs = append(errs, checks.OneOf(*p, path.Child("unhealthyPodEvictionPolicy"), policyv1.AlwaysAllow, policyv1.IfHealthyBudget)...)
	}
	return errs
}

// ValidatePodDisruptionBudgetStatusUpdate validates counts and conditions.
func ValidatePodDisruptionBudgetStatusUpdate(b, _ *policyv1.PodDisruptionBudget) field.ErrorList {
	path := field.NewPath("status")
	errs := metavalidation.ValidateConditions(b.Status.Conditions, path.Child("conditions"))
	errs = append(errs, checks.NonNegative(b.Status.DisruptionsAllowed, path.Child("disruptionsAllowed"))...)
	errs = append(errs, checks.NonNegative(b.Status.CurrentHealthy, path.Child("currentHealthy"))...)
	errs = append(errs, checks.NonNegative(b.Status.DesiredHealthy, path.Child("desiredHealthy"))...)
	return append(errs, checks.NonNegative(b.Status.ExpectedPods, path.Child("expectedPods"))...)
}
