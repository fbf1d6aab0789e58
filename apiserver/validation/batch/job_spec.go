package batch

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

const (
	maxIndexedParallelism = 100_000
	maxFailedIndexes      = 100_000
	// highCompletionsLimit limits parallelism and maxFailedIndexes if completions are above
	// completionsSoftLimit.
	completionsSoftLimit = 100_000
	highCompletionsLimit = 10_000
	maxPolicyRules       = 20
	maxExitCodes         = 255
	maxManagedByLength   = 63
)

// validateStoredJobSpec validates the spec of a Job, which has a selector.
func validateStoredJobSpec(spec *batchv1.JobSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateJobSpec(spec, path)
	if spec.Selector == nil {
		errs = append(errs, field.Required(path.Child("selector"), ""))
	} else {
		errs = append(errs, checks.LabelSelector(spec.Selector, false, path.Child("selector"))...)
	}
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err == nil && !selector.Matches(labels.Set(spec.Template.Labels)) {
		errs = append(errs, field.Invalid(path.Child("template", "metadata", "labels"), spec.Template.Labels, checks.SelectorMismatchText))
	}
	return errs
}

func validateJobSpec(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	errs := checks.NonNegativeIfSet(spec.Parallelism, path.Child("parallelism"))
	errs = append(errs, checks.NonNegativeIfSet(spec.Completions, path.Child("completions"))...)
	errs = append(errs, checks.NonNegativeIfSet(spec.ActiveDeadlineSeconds, path.Child("activeDeadlineSeconds"))...)
	errs = append(errs, checks.NonNegativeIfSet(spec.BackoffLimit, path.Child("backoffLimit"))...)
	errs = append(errs, checks.NonNegativeIfSet(spec.TTLSecondsAfterFinished, path.Child("ttlSecondsAfterFinished"))...)
	errs = append(errs, checks.NonNegativeIfSet(spec.BackoffLimitPerIndex, path.Child("backoffLimitPerIndex"))...)
	if spec.MaxFailedIndexes != nil {
		errs = append(errs, checks.NonNegative(*spec.MaxFailedIndexes, path.Child("maxFailedIndexes"))...)
		if spec.BackoffLimitPerIndex == nil {
			errs = append(errs, field.Required(path.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
		}
	}
	if spec.ManagedBy != nil {
		errs = append(errs, validation.IsDomainPrefixedPath(path.Child("managedBy"), *spec.ManagedBy)...)
		if len(*spec.ManagedBy) > maxManagedByLength {
			errs = append(errs, field.TooLong(path.Child("managedBy"), "", maxManagedByLength))
		}
	}
	errs = append(errs, validateCompletionMode(spec, path)...)
	if spec.PodFailurePolicy != nil {
		errs = append(errs, validatePodFailurePolicy(spec, path.Child("podFailurePolicy"))...)
	}
	if spec.SuccessPolicy != nil {
		if isIndexedJob(spec) {
			errs = append(errs, validateSuccessPolicy(spec, path.Child("successPolicy"))...)
		} else {
			errs = append(errs, field.Invalid(path.Child("successPolicy"), *spec.SuccessPolicy, "requires indexed completion mode"))
		}
	}
	errs = append(errs, validatePodReplacementPolicy(spec, path.Child("podReplacementPolicy"))...)
	errs = append(errs, podvalidation.ValidatePodTemplateSpec(&spec.Template, path.Child("template"))...)
	return append(errs, validateJobRestartPolicy(spec, path.Child("template", "spec", "restartPolicy"))...)
}

func validateJobRestartPolicy(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch policy := spec.Template.Spec.RestartPolicy; policy {
	case corev1.RestartPolicyAlways:
		errs = append(errs, field.Required(path, fmt.Sprintf("valid values: %q, %q", corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)))
	default:
		errs = append(errs, checks.OneOf(policy, path, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)...)
	}
	if spec.PodFailurePolicy != nil && spec.Template.Spec.RestartPolicy != corev1.RestartPolicyNever {
		errs = append(errs, field.Invalid(path, spec.Template.Spec.RestartPolicy,
			fmt.Sprintf("only %q is supported when podFailurePolicy is specified", corev1.RestartPolicyNever)))
	}
	return errs
}

func validateCompletionMode(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if mode := spec.CompletionMode; mode != nil {
		errs = append(errs, checks.OneOf(*mode, path.Child("completionMode"), batchv1.NonIndexedCompletion, batchv1.IndexedCompletion)...)
	}
	if !isIndexedJob(spec) {
		if n := spec.BackoffLimitPerIndex; n != nil {
			errs = append(errs, field.Invalid(path.Child("backoffLimitPerIndex"), *n, "requires indexed completion mode"))
		}
		if n := spec.MaxFailedIndexes; n != nil {
			errs = append(errs, field.Invalid(path.Child("maxFailedIndexes"), *n, "requires indexed completion mode"))
		}
		return errs
	}
	if spec.Completions == nil {
		errs = append(errs, field.Required(path.Child("completions"), "when completion mode is Indexed"))
	}
	requireAtMost := func(value *int32, limit int32, name, msg string) {
		if value != nil && *value > limit {
			errs = append(errs, field.Invalid(path.Child(name), *value, msg))
		}
	}
	requireAtMost(spec.Parallelism, maxIndexedParallelism, "parallelism",
		fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", maxIndexedParallelism))
	if spec.Completions != nil {
		requireAtMost(spec.MaxFailedIndexes, *spec.Completions, "maxFailedIndexes", "must be less than or equal to completions")
	}
	requireAtMost(spec.MaxFailedIndexes, maxFailedIndexes, "maxFailedIndexes", fmt.Sprintf("must be less than or equal to %d", maxFailedIndexes))
	if spec.Completions != nil && *spec.Completions > completionsSoftLimit && spec.BackoffLimitPerIndex != nil {
		if spec.MaxFailedIndexes == nil {
			errs = append(errs, field.Required(path.Child("maxFailedIndexes"), fmt.Sprintf("must be specified when completions is above %d", completionsSoftLimit)))
		}
		requireAtMost(spec.Parallelism, highCompletionsLimit, "parallelism",
			fmt.Sprintf("must be less than or equal to %d when completions are above %d and used with backoff limit per index", highCompletionsLimit, completionsSoftLimit))
		requireAtMost(spec.MaxFailedIndexes, highCompletionsLimit, "maxFailedIndexes",
			fmt.Sprintf("must be less than or equal to %d when completions are above %d and used with backoff limit per index", highCompletionsLimit, completionsSoftLimit))
	}
	return errs
}

func validatePodReplacementPolicy(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	if spec.PodReplacementPolicy == nil {
		return nil
	}
	if spec.PodFailurePolicy != nil {
		return checks.OneOf(*spec.PodReplacementPolicy, path, batchv1.Failed)
	}
	return checks.OneOf(*spec.PodReplacementPolicy, path, batchv1.Failed, batchv1.TerminatingOrFailed)
}

func validatePodFailurePolicy(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	rulesPath := path.Child("rules")
	if n := len(spec.PodFailurePolicy.Rules); n > maxPolicyRules {
		errs = append(errs, field.TooMany(rulesPath, n, maxPolicyRules))
	}
	for i := range spec.PodFailurePolicy.Rules {
		errs = append(errs, validatePodFailureRule(spec, &spec.PodFailurePolicy.Rules[i], rulesPath.Index(i))...)
	}
	return errs
}

func validatePodFailureRule(spec *batchv1.JobSpec, rule *batchv1.PodFailurePolicyRule, path *field.Path) field.ErrorList {
	actions := []batchv1.PodFailurePolicyAction{batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore}
	var errs field.ErrorList
	switch actionPath := path.Child("action"); {
	case rule.Action == "":
		errs = append(errs, field.Required(actionPath, fmt.Sprintf("valid values: %q", actions)))
	case rule.Action == batchv1.PodFailurePolicyActionFailIndex && spec.BackoffLimitPerIndex == nil:
		errs = append(errs, field.Invalid(actionPath, rule.Action, "requires the backoffLimitPerIndex to be set"))
	default:
		errs = append(errs, checks.OneOf(rule.Action, actionPath, actions...)...)
	}
	if rule.OnExitCodes != nil {
		errs = append(errs, validateOnExitCodes(spec, rule.OnExitCodes, path.Child("onExitCodes"))...)
	}
	conditionsPath := path.Child("onPodConditions")
	if n := len(rule.OnPodConditions); n > maxPolicyRules {
		errs = append(errs, field.TooMany(conditionsPath, n, maxPolicyRules))
	}
	for i, c := range rule.OnPodConditions {
		errs = append(errs, checks.QualifiedName(string(c.Type), conditionsPath.Index(i).Child("type"))...)
		statuses := []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
		if c.Status == "" {
			errs = append(errs, field.Required(conditionsPath.Index(i).Child("status"), fmt.Sprintf("valid values: %q", statuses)))
		} else {
			errs = append(errs, checks.OneOf(c.Status, conditionsPath.Index(i).Child("status"), statuses...)...)
		}
	}
	switch codes, pods := rule.OnExitCodes != nil, len(rule.OnPodConditions) > 0; {
	case codes && pods:
		errs = append(errs, field.Invalid(path, field.OmitValueType{}, "specifying both OnExitCodes and OnPodConditions is not supported"))
	case !codes && !pods:
		errs = append(errs, field.Invalid(path, field.OmitValueType{}, "specifying one of OnExitCodes and OnPodConditions is required"))
	}
	return errs
}

func validateOnExitCodes(spec *batchv1.JobSpec, r *batchv1.PodFailurePolicyOnExitCodesRequirement, path *field.Path) field.ErrorList {
	operators := []batchv1.PodFailurePolicyOnExitCodesOperator{batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn}
	var errs field.ErrorList
	if r.Operator == "" {
		errs = append(errs, field.Required(path.Child("operator"), fmt.Sprintf("valid values: %q", operators)))
	} else {
		errs = append(errs, checks.OneOf(r.Operator, path.Child("operator"), operators...)...)
	}
	hasName := func(c corev1.Container) bool { return c.Name == *r.ContainerName }
	if r.ContainerName != nil && !slices.ContainsFunc(spec.Template.Spec.Containers, hasName) && !slices.ContainsFunc(spec.Template.Spec.InitContainers, hasName) {
		errs = append(errs, field.Invalid(path.Child("containerName"), *r.ContainerName, "must be one of the container or initContainer names in the pod template"))
	}
	valuesPath := path.Child("values")
	switch n := len(r.Values); {
	case n == 0:
		errs = append(errs, field.Invalid(valuesPath, r.Values, "at least one value is required"))
	case n > maxExitCodes:
		errs = append(errs, field.TooMany(valuesPath, n, maxExitCodes))
	}
	seen := map[int32]bool{}
	for i, code := range r.Values {
		if r.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && code == 0 {
			errs = append(errs, field.Invalid(valuesPath.Index(i), code, "must not be 0 for the In operator"))
		}
		if seen[code] {
			errs = append(errs, field.Duplicate(valuesPath.Index(i), code))
		}
		seen[code] = true
	}
	if !slices.IsSorted(r.Values) {
		errs = append(errs, field.Invalid(valuesPath, r.Values, "must be ordered"))
	}
	return errs
}

func validateSuccessPolicy(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	rulesPath := path.Child("rules")
	var errs field.ErrorList
	switch n := len(spec.SuccessPolicy.Rules); {
	case n == 0:
		errs = append(errs, field.Required(rulesPath, "at least one rules must be specified when the successPolicy is specified"))
	case n > maxPolicyRules:
		errs = append(errs, field.TooMany(rulesPath, n, maxPolicyRules))
	}
	for i, rule := range spec.SuccessPolicy.Rules {
		itemPath := rulesPath.Index(i)
		if rule.SucceededCount == nil && rule.SucceededIndexes == nil {
			errs = append(errs, field.Required(itemPath, "at least one of succeededCount or succeededIndexes must be specified"))
		}
		errs = append(errs, checks.PositiveIfSet(rule.SucceededCount, itemPath.Child("succeededCount"))...)
		if n := rule.SucceededCount; n != nil && spec.Completions != nil && *n > *spec.Completions {
			errs = append(errs, field.Invalid(itemPath.Child("succeededCount"), *n, fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", *spec.Completions)))
		}
		if rule.SucceededIndexes != nil {
			errs = append(errs, validateSucceededIndexes(rule, spec.Completions, itemPath)...)
		}
	}
	return errs
}
