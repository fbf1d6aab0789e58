package apps

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/podvalidation/podstrategy"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// DefaultReplicationController sets selector and labels from the template, and replicas to 1.
func DefaultReplicationController(rc *corev1.ReplicationController) {
	if rc.Spec.Template != nil {
		poddefaults.DefaultPodTemplate(rc.Spec.Template)
		if templateLabels := rc.Spec.Template.Labels; templateLabels != nil {
			if len(rc.Spec.Selector) == 0 {
				rc.Spec.Selector = maps.Clone(templateLabels)
			}
			if len(rc.Labels) == 0 {
				rc.Labels = maps.Clone(templateLabels)
			}
		}
	}
	defaulting.SetPointer(&rc.Spec.Replicas, 1)
}

// PrepareReplicationControllerForCreate clears fields of disabled feature gates.
func PrepareReplicationControllerForCreate(rc *corev1.ReplicationController) {
	if rc.Spec.Template != nil {
		podstrategy.PrepareTemplate(rc.Spec.Template, nil)
	}
}

// PrepareReplicationControllerForUpdate clears fields of disabled feature gates.
func PrepareReplicationControllerForUpdate(rc, old *corev1.ReplicationController) {
	if rc.Spec.Template != nil {
		podstrategy.PrepareTemplate(rc.Spec.Template, old.Spec.Template)
	}
}

// ValidateReplicationController validates a new ReplicationController.
func ValidateReplicationController(rc *corev1.ReplicationController) field.ErrorList {
	return append(checks.ObjectMeta(&rc.ObjectMeta, true, apivalidation.NameIsDNSSubdomain), validateReplicationControllerSpec(&rc.Spec)...)
}

// ValidateReplicationControllerUpdate validates an update. As in kube-apiserver, errors of the spec
// are reported twice.
func ValidateReplicationControllerUpdate(rc, old *corev1.ReplicationController) field.ErrorList {
	errs := ValidateReplicationController(rc)
	errs = append(errs, checks.ObjectMetaUpdate(&rc.ObjectMeta, &old.ObjectMeta)...)
	return append(errs, validateReplicationControllerSpec(&rc.Spec)...)
}

func validateReplicationControllerSpec(spec *corev1.ReplicationControllerSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := checks.NonNegative(spec.MinReadySeconds, path.Child("minReadySeconds"))
	if len(spec.Selector) == 0 {
		errs = append(errs, field.Required(path.Child("selector"), ""))
	}
	errs = append(errs, checks.NonNegativeIfSet(spec.Replicas, path.Child("replicas"))...)
	if spec.Template == nil {
		return append(errs, field.Required(path.Child("template"), ""))
	}
	templatePath := path.Child("template")
	errs = append(errs, checks.MatchingTemplate(labels.SelectorFromSet(spec.Selector), spec.Template, templatePath)...)
	errs = append(errs, podvalidation.ValidatePodTemplateSpec(spec.Template, templatePath)...)
	if *spec.Replicas > 1 {
		errs = append(errs, checks.NoSharedWritableDisks(spec.Template.Spec.Volumes, templatePath.Child("spec", "volumes"))...)
	}
	return append(errs, checks.AlwaysRestartTemplate(spec.Template, "ReplicationController", templatePath)...)
}

// ValidateReplicationControllerStatusUpdate validates the counts.
func ValidateReplicationControllerStatusUpdate(rc, old *corev1.ReplicationController) field.ErrorList {
	path, s := field.NewPath("status"), rc.Status
	errs := checks.ObjectMetaUpdate(&rc.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checks.NonNegative(s.Replicas, path.Child("replicas"))...)
	errs = append(errs, checks.NonNegative(s.FullyLabeledReplicas, path.Child("fullyLabeledReplicas"))...)
	errs = append(errs, checks.NonNegative(s.ReadyReplicas, path.Child("readyReplicas"))...)
	errs = append(errs, checks.NonNegative(s.AvailableReplicas, path.Child("availableReplicas"))...)
	errs = append(errs, checks.NonNegative(s.ObservedGeneration, path.Child("observedGeneration"))...)
	errs = append(errs, checks.NotGreaterThan(s.FullyLabeledReplicas, s.Replicas, path.Child("fullyLabeledReplicas"), "status.replicas")...)
	errs = append(errs, checks.NotGreaterThan(s.ReadyReplicas, s.Replicas, path.Child("readyReplicas"), "status.replicas")...)
	errs = append(errs, checks.NotGreaterThan(s.AvailableReplicas, s.Replicas, path.Child("availableReplicas"), "status.replicas")...)
	return append(errs, checks.NotGreaterThan(s.AvailableReplicas, s.ReadyReplicas, path.Child("availableReplicas"), "readyReplicas")...)
}

// ReplicationControllerWarnings warns of the name and the template.
func ReplicationControllerWarnings(ctx context.Context, rc, old *corev1.ReplicationController) []string {
	var warnings []string
	if old == nil {
		warnings = checks.NameWarning(rc.Name)
	}
	if rc.Spec.Template == nil {
		return warnings
	}
	if old == nil {
		return append(warnings, checks.TemplateWarnings(ctx, rc.Spec.Template, nil, true)...)
	}
	return append(warnings, checks.TemplateWarnings(ctx, rc.Spec.Template, old.Spec.Template, !checks.SemanticEqual(rc.Spec, old.Spec))...)
}
