package apps

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/podvalidation/podstrategy"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// DefaultReplicaSet sets replicas to 1 and the defaults of the pod template.
func DefaultReplicaSet(rs *appsv1.ReplicaSet) {
	defaulting.SetPointer(&rs.Spec.Replicas, 1)
	poddefaults.DefaultPodTemplate(&rs.Spec.Template)
}

// PrepareReplicaSetForCreate clears fields of disabled feature gates.
func PrepareReplicaSetForCreate(rs *appsv1.ReplicaSet) {
	podstrategy.PrepareTemplate(&rs.Spec.Template, nil)
}

// PrepareReplicaSetForUpdate clears fields of disabled feature gates.
func PrepareReplicaSetForUpdate(rs, old *appsv1.ReplicaSet) {
	podstrategy.PrepareTemplate(&rs.Spec.Template, &old.Spec.Template)
}

// ValidateReplicaSet validates a new ReplicaSet.
func ValidateReplicaSet(rs *appsv1.ReplicaSet) field.ErrorList {
	return append(checks.ObjectMeta(&rs.ObjectMeta, true, apivalidation.NameIsDNSSubdomain), validateReplicaSetSpec(&rs.Spec, false)...)
}

// ValidateReplicaSetUpdate validates an update. The selector is immutable. As in kube-apiserver,
// errors of the spec are reported twice.
func ValidateReplicaSetUpdate(rs, old *appsv1.ReplicaSet) field.ErrorList {
	allowInvalidLabels := hasInvalidSelector(old.Spec.Selector)
	errs := checks.ObjectMeta(&rs.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateReplicaSetSpec(&rs.Spec, allowInvalidLabels)...)
	errs = append(errs, checks.ObjectMetaUpdate(&rs.ObjectMeta, &old.ObjectMeta)...)
	errs = append(errs, validateReplicaSetSpec(&rs.Spec, allowInvalidLabels)...)
	return append(errs, checks.Immutable(rs.Spec.Selector, old.Spec.Selector, field.NewPath("spec", "selector"))...)
}

func hasInvalidSelector(s *metav1.LabelSelector) bool {
	return s != nil && metavalidation.LabelSelectorHasInvalidLabelValue(s)
}

func validateReplicaSetSpec(spec *appsv1.ReplicaSetSpec, allowInvalidLabels bool) field.ErrorList {
	path := field.NewPath("spec")
	errs := checks.NonNegativeIfSet(spec.Replicas, path.Child("replicas"))
	errs = append(errs, checks.NonNegative(spec.MinReadySeconds, path.Child("minReadySeconds"))...)
	errs = append(errs, checks.RequiredSelector(spec.Selector, allowInvalidLabels, "deployment", path.Child("selector"))...) // kube-apiserver's text names a deployment, too
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil {
		return append(errs, field.Invalid(path.Child("selector"), spec.Selector, "invalid label selector"))
	}
	return append(errs, checks.ReplicaTemplate(&spec.Template, selector, *spec.Replicas, path.Child("template"))...)
}

// ValidateReplicaSetStatusUpdate validates the counts.
func ValidateReplicaSetStatusUpdate(rs, old *appsv1.ReplicaSet) field.ErrorList {
	path, s := field.NewPath("status"), rs.Status
	errs := checks.ObjectMetaUpdate(&rs.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checks.NonNegative(s.Replicas, path.Child("replicas"))...)
	errs = append(errs, checks.NonNegative(s.FullyLabeledReplicas, path.Child("fullyLabeledReplicas"))...)
	errs = append(errs, checks.NonNegative(s.ReadyReplicas, path.Child("readyReplicas"))...)
	errs = append(errs, checks.NonNegative(s.AvailableReplicas, path.Child("availableReplicas"))...)
	errs = append(errs, checks.NonNegativeIfSet(s.TerminatingReplicas, path.Child("terminatingReplicas"))...)
	errs = append(errs, checks.NonNegative(s.ObservedGeneration, path.Child("observedGeneration"))...)
	errs = append(errs, checks.NotGreaterThan(s.FullyLabeledReplicas, s.Replicas, path.Child("fullyLabeledReplicas"), "status.replicas")...)
	errs = append(errs, checks.NotGreaterThan(s.ReadyReplicas, s.Replicas, path.Child("readyReplicas"), "status.replicas")...)
	errs = append(errs, checks.NotGreaterThan(s.AvailableReplicas, s.Replicas, path.Child("availableReplicas"), "status.replicas")...)
	return append(errs, checks.NotGreaterThan(s.AvailableReplicas, s.ReadyReplicas, path.Child("availableReplicas"), "readyReplicas")...)
}

// ReplicaSetWarnings warns of the name and the template.
func ReplicaSetWarnings(ctx context.Context, rs, old *appsv1.ReplicaSet) []string {
	if old == nil {
		return append(checks.NameWarning(rs.Name), checks.TemplateWarnings(ctx, &rs.Spec.Template, nil, true)...)
	}
	return checks.TemplateWarnings(ctx, &rs.Spec.Template, &old.Spec.Template, !checks.SemanticEqual(rs.Spec, old.Spec))
}
