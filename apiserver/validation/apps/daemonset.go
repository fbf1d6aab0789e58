package apps

import (
	"context"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/podvalidation/podstrategy"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// DefaultDaemonSet sets the update strategy, the history limit and the defaults of the pod template.
func DefaultDaemonSet(ds *appsv1.DaemonSet) {
	strategy := &ds.Spec.UpdateStrategy
	defaulting.Set(&strategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if strategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		defaulting.SetPointer(&strategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		defaulting.SetPointer(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		defaulting.SetPointer(&strategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	defaulting.SetPointer(&ds.Spec.RevisionHistoryLimit, 10)
	poddefaults.DefaultPodTemplate(&ds.Spec.Template)
}

// PrepareDaemonSetForCreate clears fields of disabled feature gates and initializes the template
// generation, which is an annotation.
func PrepareDaemonSetForCreate(ds *appsv1.DaemonSet) {
	podstrategy.PrepareTemplate(&ds.Spec.Template, nil)
	setTemplateGeneration(ds, 1)
}

// PrepareDaemonSetForUpdate clears fields of disabled feature gates and increments the template
// generation if the template changes.
func PrepareDaemonSetForUpdate(ds, old *appsv1.DaemonSet) {
	podstrategy.PrepareTemplate(&ds.Spec.Template, &old.Spec.Template)
	generation := templateGeneration(old)
	if !checks.SemanticEqual(ds.Spec.Template, old.Spec.Template) {
		generation++
	}
	setTemplateGeneration(ds, generation)
}

// PrepareDaemonSetStatusUpdate restores the template generation.
func PrepareDaemonSetStatusUpdate(ds, old *appsv1.DaemonSet) {
	setTemplateGeneration(ds, templateGeneration(old))
}

// templateGeneration returns the template generation, or 0 if the annotation is invalid.
func templateGeneration(ds *appsv1.DaemonSet) int64 {
	n, err := strconv.ParseInt(ds.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func setTemplateGeneration(ds *appsv1.DaemonSet, n int64) {
	if ds.Annotations == nil {
		ds.Annotations = map[string]string{}
	}
	ds.Annotations[appsv1.DeprecatedTemplateGeneration] = strconv.FormatInt(n, 10)
}

// ValidateDaemonSet validates a new DaemonSet.
func ValidateDaemonSet(ds *appsv1.DaemonSet) field.ErrorList {
	return append(checks.ObjectMeta(&ds.ObjectMeta, true, apivalidation.NameIsDNSSubdomain), validateDaemonSetSpec(&ds.Spec, false)...)
}

// ValidateDaemonSetUpdate validates an update. The selector is immutable. As in kube-apiserver,
// errors of the spec are reported twice.
func ValidateDaemonSetUpdate(ds, old *appsv1.DaemonSet) field.ErrorList {
	allowInvalidLabels := hasInvalidSelector(old.Spec.Selector)
	errs := checks.ObjectMeta(&ds.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateDaemonSetSpec(&ds.Spec, allowInvalidLabels)...)
	errs = append(errs, checks.ObjectMetaUpdate(&ds.ObjectMeta, &old.ObjectMeta)...)
	errs = append(errs, validateDaemonSetSpec(&ds.Spec, allowInvalidLabels)...)
	return append(errs, checks.Immutable(ds.Spec.Selector, old.Spec.Selector, field.NewPath("spec", "selector"))...)
}

func validateDaemonSetSpec(spec *appsv1.DaemonSetSpec, allowInvalidLabels bool) field.ErrorList {
	path := field.NewPath("spec")
	templatePath := path.Child("template")
	errs := checks.LabelSelector(spec.Selector, allowInvalidLabels, path.Child("selector"))
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err == nil && !selector.Matches(labels.Set(spec.Template.Labels)) {
		errs = append(errs, field.Invalid(templatePath.Child("metadata", "labels"), spec.Template.Labels, checks.SelectorMismatchText))
	}
	if spec.Selector != nil && checks.IsEmptySelector(spec.Selector) {
		errs = append(errs, field.Invalid(path.Child("selector"), spec.Selector, "empty selector is invalid for daemonset"))
	}
	errs = append(errs, podvalidation.ValidatePodTemplateSpec(&spec.Template, templatePath)...)
	errs = append(errs, checks.NoSharedWritableDisks(spec.Template.Spec.Volumes, templatePath.Child("spec", "volumes"))...)
	errs = append(errs, checks.AlwaysRestartTemplate(&spec.Template, "DaemonSet", templatePath)...)
	errs = append(errs, checks.NonNegative(spec.MinReadySeconds, path.Child("minReadySeconds"))...)
	errs = append(errs, validateDaemonSetStrategy(&spec.UpdateStrategy, path.Child("updateStrategy"))...)
	return append(errs, checks.NonNegativeIfSet(spec.RevisionHistoryLimit, path.Child("revisionHistoryLimit"))...)
}

func validateDaemonSetStrategy(strategy *appsv1.DaemonSetUpdateStrategy, path *field.Path) field.ErrorList {
	switch strategy.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return nil
	case appsv1.RollingUpdateDaemonSetStrategyType:
		return validateRollingDaemonSet(strategy.RollingUpdate, path.Child("rollingUpdate"))
	}
	printable := struct {
		Type          appsv1.DaemonSetUpdateStrategyType
		RollingUpdate *printableRollingUpdate
	}{strategy.Type, nil}
	if r := strategy.RollingUpdate; r != nil {
		printable.RollingUpdate = &printableRollingUpdate{countOrZero(r.MaxUnavailable), countOrZero(r.MaxSurge)}
	}
	return field.ErrorList{field.NotSupported(path, printable,
		[]appsv1.DaemonSetUpdateStrategyType{appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType})}
}

// validateRollingDaemonSet requires exactly one of maxUnavailable and maxSurge to be nonzero.
func validateRollingDaemonSet(r *appsv1.RollingUpdateDaemonSet, path *field.Path) field.ErrorList {
	if r == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	unavailable, surge := countOrZero(r.MaxUnavailable), countOrZero(r.MaxSurge)
	unavailablePath, surgePath := path.Child("maxUnavailable"), path.Child("maxSurge")
	errs := checks.CountOrPercent(unavailable, unavailablePath)
	errs = append(errs, checks.CountOrPercent(surge, surgePath)...)
	errs = append(errs, checks.NotAbove100Percent(unavailable, unavailablePath)...)
	errs = append(errs, checks.NotAbove100Percent(surge, surgePath)...)
	switch unavailableZero, surgeZero := !isPositiveCount(unavailable), !isPositiveCount(surge); {
	case !unavailableZero && !surgeZero:
		errs = append(errs, field.Invalid(surgePath, surge, "may not be set when maxUnavailable is non-zero"))
	case unavailableZero && surgeZero:
		errs = append(errs, field.Required(unavailablePath, "cannot be 0 when maxSurge is 0"))
	}
	return errs
}

// isPositiveCount reports whether a number or percentage is not zero. Invalid strings count as
// zero.
func isPositiveCount(value intstr.IntOrString) bool {
	if p, ok := checks.Percent(value); ok {
		return p != 0
	}
	return value.Type == intstr.Int && value.IntValue() != 0
}

// ValidateDaemonSetStatusUpdate validates the counts.
func ValidateDaemonSetStatusUpdate(ds, old *appsv1.DaemonSet) field.ErrorList {
	path, s := field.NewPath("status"), ds.Status
	errs := checks.ObjectMetaUpdate(&ds.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checks.NonNegative(s.CurrentNumberScheduled, path.Child("currentNumberScheduled"))...)
	errs = append(errs, checks.NonNegative(s.NumberMisscheduled, path.Child("numberMisscheduled"))...)
	errs = append(errs, checks.NonNegative(s.DesiredNumberScheduled, path.Child("desiredNumberScheduled"))...)
	errs = append(errs, checks.NonNegative(s.NumberReady, path.Child("numberReady"))...)
	errs = append(errs, checks.NonNegative(s.ObservedGeneration, path.Child("observedGeneration"))...)
	errs = append(errs, checks.NonNegative(s.UpdatedNumberScheduled, path.Child("updatedNumberScheduled"))...)
	errs = append(errs, checks.NonNegative(s.NumberAvailable, path.Child("numberAvailable"))...)
	errs = append(errs, checks.NonNegative(s.NumberUnavailable, path.Child("numberUnavailable"))...)
	errs = append(errs, checks.NonNegativeIfSet(s.CollisionCount, path.Child("collisionCount"))...)
	return append(errs, checks.NotDecremented(s.CollisionCount, old.Status.CollisionCount, path.Child("collisionCount"))...)
}

// DaemonSetWarnings returns warnings for the template.
func DaemonSetWarnings(ctx context.Context, ds, old *appsv1.DaemonSet) []string {
	if old == nil {
		return checks.TemplateWarnings(ctx, &ds.Spec.Template, nil, true)
	}
	return checks.TemplateWarnings(ctx, &ds.Spec.Template, &old.Spec.Template, !checks.SemanticEqual(ds.Spec, old.Spec))
}
