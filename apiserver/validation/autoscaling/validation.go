package autoscaling

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

var specPath = field.NewPath("spec")

// Validate validates a new autoscaler.
func Validate(h *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	errs := checks.ObjectMeta(&h.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateSpec(&h.Spec, true)...)
}

// ValidateUpdate validates an update. An invalid apiVersion of the target is accepted if it does not change.
func ValidateUpdate(h, old *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&h.ObjectMeta, &old.ObjectMeta)
	return append(errs, validateSpec(&h.Spec, h.Spec.ScaleTargetRef.APIVersion != old.Spec.ScaleTargetRef.APIVersion)...)
}

// ValidateStatusUpdate validates the counts of the status.
func ValidateStatusUpdate(h, old *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&h.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status")
	errs = append(errs, checks.NonNegative(h.Status.CurrentReplicas, path.Child("currentReplicas"))...)
	return append(errs, checks.NonNegative(h.Status.DesiredReplicas, path.Child("desiredReplicas"))...)
}

func validateSpec(spec *autoscalingv2.HorizontalPodAutoscalerSpec, checkTargetVersion bool) field.ErrorList {
	var errs field.ErrorList
	if n := spec.MinReplicas; n != nil && *n < 1 {
		errs = append(errs, field.Invalid(specPath.Child("minReplicas"), *n, "must be greater than or equal to 1"))
	}
	if spec.MaxReplicas < 1 {
		errs = append(errs, field.Invalid(specPath.Child("maxReplicas"), spec.MaxReplicas, "must be greater than 0"))
	}
	if n := spec.MinReplicas; n != nil && spec.MaxReplicas < *n {
		errs = append(errs, field.Invalid(specPath.Child("maxReplicas"), spec.MaxReplicas, "must be greater than or equal to `minReplicas`"))
	}
	errs = append(errs, validateReference(&spec.ScaleTargetRef, checkTargetVersion, specPath.Child("scaleTargetRef"))...)
	for i := range spec.Metrics {
		errs = append(errs, validateMetric(&spec.Metrics[i], specPath.Child("metrics").Index(i))...)
	}
	if b := spec.Behavior; b != nil {
		path := specPath.Child("behavior")
		errs = append(errs, validateRules(b.ScaleUp, path.Child("scaleUp"))...)
		errs = append(errs, validateRules(b.ScaleDown, path.Child("scaleDown"))...)
	}
	return errs
}

func validateReference(ref *autoscalingv2.CrossVersionObjectReference, checkVersion bool, path *field.Path) field.ErrorList {
	errs := append(validateSegment(ref.Kind, "", path.Child("kind")), validateSegment(ref.Name, "", path.Child("name"))...)
	if checkVersion && ref.APIVersion != "" {
		if _, err := schema.ParseGroupVersion(ref.APIVersion); err != nil {
			errs = append(errs, field.Invalid(path.Child("apiVersion"), ref.APIVersion, err.Error()))
		}
	}
	return errs
}

// validateSegment requires a value that may be part of a URL path.
func validateSegment(value, requiredMsg string, path *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, requiredMsg)}
	}
	return checks.InvalidEach(path, value, content.IsPathSegmentName(value))
}
