package apps

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/podvalidation/podstrategy"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// DefaultDeployment sets replicas, strategy, limits and the defaults of the pod template.
func DefaultDeployment(d *appsv1.Deployment) {
	defaulting.SetPointer(&d.Spec.Replicas, 1)
	strategy := &d.Spec.Strategy
	defaulting.Set(&strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		defaulting.SetPointer(&strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		defaulting.SetPointer(&strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		defaulting.SetPointer(&strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	defaulting.SetPointer(&d.Spec.RevisionHistoryLimit, 10)
	defaulting.SetPointer(&d.Spec.ProgressDeadlineSeconds, 600)
	poddefaults.DefaultPodTemplate(&d.Spec.Template)
}

// PrepareDeploymentForCreate clears fields of disabled feature gates.
func PrepareDeploymentForCreate(d *appsv1.Deployment) {
	podstrategy.PrepareTemplate(&d.Spec.Template, nil)
}

// PrepareDeploymentForUpdate clears fields of disabled feature gates.
func PrepareDeploymentForUpdate(d, old *appsv1.Deployment) {
	podstrategy.PrepareTemplate(&d.Spec.Template, &old.Spec.Template)
}

// PrepareDeploymentStatusUpdate restores the labels, which other status subresources may change.
func PrepareDeploymentStatusUpdate(d, old *appsv1.Deployment) {
	d.Labels = old.Labels
}

// ValidateDeployment validates a new Deployment.
func ValidateDeployment(d *appsv1.Deployment) field.ErrorList {
	return append(checks.ObjectMeta(&d.ObjectMeta, true, apivalidation.NameIsDNSSubdomain), validateDeploymentSpec(&d.Spec, false)...)
}

// ValidateDeploymentUpdate validates an update. The selector is immutable.
func ValidateDeploymentUpdate(d, old *appsv1.Deployment) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&d.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateDeploymentSpec(&d.Spec, hasInvalidSelector(old.Spec.Selector))...)
	return append(errs, checks.Immutable(d.Spec.Selector, old.Spec.Selector, field.NewPath("spec", "selector"))...)
}

func validateDeploymentSpec(spec *appsv1.DeploymentSpec, allowInvalidLabels bool) field.ErrorList {
	path := field.NewPath("spec")
	errs := checks.NonNegativeIfSet(spec.Replicas, path.Child("replicas"))
	errs = append(errs, checks.RequiredSelector(spec.Selector, allowInvalidLabels, "deployment", path.Child("selector"))...)
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil {
		errs = append(errs, field.Invalid(path.Child("selector"), spec.Selector, "invalid label selector"))
	} else {
		errs = append(errs, checks.ReplicaTemplate(&spec.Template, selector, *spec.Replicas, path.Child("template"))...)
	}
	errs = append(errs, validateDeploymentStrategy(&spec.Strategy, path.Child("strategy"))...)
	errs = append(errs, checks.NonNegative(spec.MinReadySeconds, path.Child("minReadySeconds"))...)
	errs = append(errs, checks.NonNegativeIfSet(spec.RevisionHistoryLimit, path.Child("revisionHistoryLimit"))...)
	if deadline := spec.ProgressDeadlineSeconds; deadline != nil {
		errs = append(errs, checks.NonNegative(*deadline, path.Child("progressDeadlineSeconds"))...)
		if *deadline <= spec.MinReadySeconds {
			errs = append(errs, field.Invalid(path.Child("progressDeadlineSeconds"), *deadline, "must be greater than minReadySeconds"))
		}
	}
	return errs
}

func validateDeploymentStrategy(strategy *appsv1.DeploymentStrategy, path *field.Path) field.ErrorList {
	rollingPath := path.Child("rollingUpdate")
	switch strategy.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if strategy.RollingUpdate != nil {
			return field.ErrorList{field.Forbidden(rollingPath, "may not be specified when strategy `type` is 'Recreate'")}
		}
		return nil
	case appsv1.RollingUpdateDeploymentStrategyType:
		return validateRollingDeployment(strategy.RollingUpdate, rollingPath)
	}
	printable := struct {
		Type          appsv1.DeploymentStrategyType
		RollingUpdate *printableRollingUpdate
	}{strategy.Type, nil}
	if r := strategy.RollingUpdate; r != nil {
		printable.RollingUpdate = &printableRollingUpdate{countOrZero(r.MaxUnavailable), countOrZero(r.MaxSurge)}
	}
	return field.ErrorList{field.NotSupported(path, printable,
		[]appsv1.DeploymentStrategyType{appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType})}
}

// printableRollingUpdate formats a rolling update as kube-apiserver's messages do.
type printableRollingUpdate struct{ MaxUnavailable, MaxSurge intstr.IntOrString }

func countOrZero(value *intstr.IntOrString) intstr.IntOrString {
	if value == nil {
		return intstr.IntOrString{}
	}
	return *value
}

func validateRollingDeployment(r *appsv1.RollingUpdateDeployment, path *field.Path) field.ErrorList {
	if r == nil {
		return field.ErrorList{field.Required(path, "this should be defaulted and never be nil")}
	}
	unavailable, surge := countOrZero(r.MaxUnavailable), countOrZero(r.MaxSurge)
	errs := checks.CountOrPercent(unavailable, path.Child("maxUnavailable"))
	errs = append(errs, checks.CountOrPercent(surge, path.Child("maxSurge"))...)
	if checks.IsZeroCount(unavailable) && checks.IsZeroCount(surge) {
		errs = append(errs, field.Invalid(path.Child("maxUnavailable"), unavailable, "may not be 0 when `maxSurge` is 0"))
	}
	return append(errs, checks.NotAbove100Percent(unavailable, path.Child("maxUnavailable"))...)
}

// ValidateDeploymentStatusUpdate validates the counts.
func ValidateDeploymentStatusUpdate(d, old *appsv1.Deployment) field.ErrorList {
	path, s := field.NewPath("status"), d.Status
	errs := checks.ObjectMetaUpdate(&d.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checks.NonNegative(s.ObservedGeneration, path.Child("observedGeneration"))...)
	errs = append(errs, checks.NonNegative(s.Replicas, path.Child("replicas"))...)
	errs = append(errs, checks.NonNegative(s.UpdatedReplicas, path.Child("updatedReplicas"))...)
	errs = append(errs, checks.NonNegative(s.ReadyReplicas, path.Child("readyReplicas"))...)
	errs = append(errs, checks.NonNegative(s.AvailableReplicas, path.Child("availableReplicas"))...)
	errs = append(errs, checks.NonNegative(s.UnavailableReplicas, path.Child("unavailableReplicas"))...)
	errs = append(errs, checks.NonNegativeIfSet(s.TerminatingReplicas, path.Child("terminatingReplicas"))...)
	errs = append(errs, checks.NonNegativeIfSet(s.CollisionCount, path.Child("collisionCount"))...)
	errs = append(errs, checks.NotGreaterThan(s.UpdatedReplicas, s.Replicas, path.Child("updatedReplicas"), "status.replicas")...)
	errs = append(errs, checks.NotGreaterThan(s.ReadyReplicas, s.Replicas, path.Child("readyReplicas"), "status.replicas")...)
	errs = append(errs, checks.NotGreaterThan(s.AvailableReplicas, s.Replicas, path.Child("availableReplicas"), "status.replicas")...)
	errs = append(errs, checks.NotGreaterThan(s.AvailableReplicas, s.ReadyReplicas, path.Child("availableReplicas"), "readyReplicas")...)
	return append(errs, checks.NotDecremented(s.CollisionCount, old.Status.CollisionCount, path.Child("collisionCount"))...)
}

// DeploymentWarnings warns of the name and the template.
func DeploymentWarnings(ctx context.Context, d, old *appsv1.Deployment) []string {
	if old == nil {
		return append(checks.NameWarning(d.Name), checks.TemplateWarnings(ctx, &d.Spec.Template, nil, true)...)
	}
	return checks.TemplateWarnings(ctx, &d.Spec.Template, &old.Spec.Template, !checks.SemanticEqual(d.Spec, old.Spec))
}
