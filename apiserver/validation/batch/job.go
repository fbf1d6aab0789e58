package batch

import (
	"context"
	"fmt"
	"maps"
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/podvalidation/podstrategy"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// Legacy labels without a prefix, which a Job has in addition to the prefixed ones.
const (
	legacyControllerUIDLabel = "controller-uid"
	legacyJobNameLabel       = "job-name"
)

// DefaultJob sets the defaults of a Job.
func DefaultJob(job *batchv1.Job) {
	spec := &job.Spec
	if spec.Completions == nil && spec.Parallelism == nil {
		defaulting.SetPointer(&spec.Completions, 1)
	}
	defaulting.SetPointer(&spec.Parallelism, 1)
	if spec.BackoffLimitPerIndex != nil {
		defaulting.SetPointer(&spec.BackoffLimit, math.MaxInt32)
	}
	defaulting.SetPointer(&spec.BackoffLimit, 6)
	if len(job.Labels) == 0 && spec.Template.Labels != nil {
		job.Labels = maps.Clone(spec.Template.Labels)
	}
	defaulting.SetPointer(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	defaulting.SetPointer(&spec.Suspend, false)
	defaulting.SetPointer(&spec.ManualSelector, false)
	if spec.PodFailurePolicy != nil {
		defaulting.SetPointer(&spec.PodReplacementPolicy, batchv1.Failed)
	}
	defaulting.SetPointer(&spec.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	defaultJobTemplate(spec)
}

// defaultJobTemplate sets the defaults that the template of a CronJob also gets.
func defaultJobTemplate(spec *batchv1.JobSpec) {
	if spec.PodFailurePolicy != nil {
		for _, rule := range spec.PodFailurePolicy.Rules {
			for i := range rule.OnPodConditions {
				defaulting.Set(&rule.OnPodConditions[i].Status, corev1.ConditionTrue)
			}
		}
	}
	poddefaults.DefaultPodTemplate(&spec.Template)
}

// PrepareJobForCreate adds labels with the UID and name of the Job to the template and selects by
// UID, unless manualSelector is set.
func PrepareJobForCreate(job *batchv1.Job) {
	podstrategy.PrepareTemplate(&job.Spec.Template, nil)
	if job.Spec.ManualSelector != nil && *job.Spec.ManualSelector {
		return
	}
	template := &job.Spec.Template
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	if _, found := template.Labels[legacyJobNameLabel]; !found {
		template.Labels[legacyJobNameLabel] = job.Name
		template.Labels[batchv1.JobNameLabel] = job.Name
	}
	uid := string(job.UID)
	if _, found := template.Labels[legacyControllerUIDLabel]; !found {
		template.Labels[legacyControllerUIDLabel] = uid
		template.Labels[batchv1.ControllerUidLabel] = uid
	}
	defaulting.SetPointer(&job.Spec.Selector, metav1.LabelSelector{})
	if job.Spec.Selector.MatchLabels == nil {
		job.Spec.Selector.MatchLabels = map[string]string{}
	}
	if _, found := job.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel]; !found {
		job.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel] = uid
	}
}

// PrepareJobForUpdate clears the template's fields of disabled feature gates.
func PrepareJobForUpdate(job, old *batchv1.Job) {
	podstrategy.PrepareTemplate(&job.Spec.Template, &old.Spec.Template)
}

// ValidateJob validates a new Job.
func ValidateJob(job *batchv1.Job) field.ErrorList {
	errs := checks.ObjectMeta(&job.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateGeneratedSelector(job)...)
	errs = append(errs, validateStoredJobSpec(&job.Spec)...)
	if n := job.Spec.Completions; isIndexedJob(&job.Spec) && n != nil && *n > 0 {
		longest := fmt.Sprintf("%s-%d", job.Name, *n-1)
		if len(checks.DNSLabel(longest, nil)) > 0 {
			errs = append(errs, field.Invalid(checks.MetadataPath.Child("name"), job.Name,
				"will not able to create pod with invalid DNS label: "+longest))
		}
	}
	return errs
}

func isIndexedJob(spec *batchv1.JobSpec) bool {
	return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
}

// validateGeneratedSelector requires the generated selector and labels to be unchanged.
func validateGeneratedSelector(job *batchv1.Job) field.ErrorList {
	if job.Spec.Selector == nil || (job.Spec.ManualSelector != nil && *job.Spec.ManualSelector) {
		return nil
	}
	var errs field.ErrorList
	if job.UID == "" {
		errs = append(errs, field.Required(checks.MetadataPath.Child("uid"), ""))
	}
	generated := labels.Set{
		legacyControllerUIDLabel: string(job.UID), legacyJobNameLabel: job.Name,
		batchv1.ControllerUidLabel: string(job.UID), batchv1.JobNameLabel: job.Name,
	}
	for _, key := range []string{legacyControllerUIDLabel, legacyJobNameLabel, batchv1.ControllerUidLabel, batchv1.JobNameLabel} {
		errs = append(errs, validateRequiredLabel(job.Spec.Template.Labels, key, generated[key])...)
	}
	if s, err := metav1.LabelSelectorAsSelector(job.Spec.Selector); err == nil && !s.Matches(generated) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "selector"), job.Spec.Selector, "`selector` not auto-generated"))
	}
	return errs
}

func validateRequiredLabel(templateLabels map[string]string, key, want string) field.ErrorList {
	path := field.NewPath("spec", "template", "metadata", "labels").Key(key)
	value, found := templateLabels[key]
	switch text := fmt.Sprintf("must be '%s'", want); {
	case !found:
		return field.ErrorList{field.Required(path, text)}
	case value != want:
		return field.ErrorList{field.Invalid(path, templateLabels, text)}
	}
	return nil
}

// ValidateJobUpdate validates an update. As in kube-apiserver, errors of the spec are reported
// twice.
func ValidateJobUpdate(job, old *batchv1.Job) field.ErrorList {
	errs := ValidateJob(job)
	errs = append(errs, checks.ObjectMetaUpdate(&job.ObjectMeta, &old.ObjectMeta)...)
	errs = append(errs, validateStoredJobSpec(&job.Spec)...)
	path, spec, oldSpec := field.NewPath("spec"), &job.Spec, &old.Spec
	errs = append(errs, validateCompletionsChange(spec, oldSpec, path.Child("completions"))...)
	errs = append(errs, checks.Immutable(spec.Selector, oldSpec.Selector, path.Child("selector"))...)
	errs = append(errs, validateJobTemplateChange(job, old, path.Child("template"))...)
	errs = append(errs, checks.Immutable(spec.CompletionMode, oldSpec.CompletionMode, path.Child("completionMode"))...)
	errs = append(errs, checks.Immutable(spec.PodFailurePolicy, oldSpec.PodFailurePolicy, path.Child("podFailurePolicy"))...)
	errs = append(errs, checks.Immutable(spec.BackoffLimitPerIndex, oldSpec.BackoffLimitPerIndex, path.Child("backoffLimitPerIndex"))...)
	errs = append(errs, checks.Immutable(spec.ManagedBy, oldSpec.ManagedBy, path.Child("managedBy"))...)
	return append(errs, checks.Immutable(spec.SuccessPolicy, oldSpec.SuccessPolicy, path.Child("successPolicy"))...)
}

// validateCompletionsChange allows a change of completions only for an indexed Job, and only if the new value equals
// parallelism.
func validateCompletionsChange(spec, oldSpec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	if !isIndexedJob(spec) {
		return checks.Immutable(spec.Completions, oldSpec.Completions, path)
	}
	if checks.SemanticEqual(spec.Completions, oldSpec.Completions) || spec.Completions == nil || spec.Parallelism == nil ||
		*spec.Completions == *spec.Parallelism {
		return nil
	}
	return field.ErrorList{field.Invalid(path, spec.Completions, "can only be modified in tandem with spec.parallelism")}
}

// validateJobTemplateChange rejects changes of the template. A suspended Job that has not started may change
// labels, annotations, scheduling directives and container resources.
func validateJobTemplateChange(job, old *batchv1.Job, path *field.Path) field.ErrorList {
	expected := old.Spec.Template.DeepCopy()
	template := &job.Spec.Template
	if old.Spec.Suspend != nil && *old.Spec.Suspend && old.Status.StartTime == nil {
		switch {
		case expected.Spec.Affinity == nil && template.Spec.Affinity != nil:
			expected.Spec.Affinity = &corev1.Affinity{NodeAffinity: template.Spec.Affinity.NodeAffinity}
		case expected.Spec.Affinity != nil && template.Spec.Affinity == nil:
			expected.Spec.Affinity.NodeAffinity = nil
			if (*expected.Spec.Affinity == corev1.Affinity{}) {
				expected.Spec.Affinity = nil
			}
		case expected.Spec.Affinity != nil:
			expected.Spec.Affinity.NodeAffinity = template.Spec.Affinity.NodeAffinity
		}
		expected.Spec.NodeSelector = template.Spec.NodeSelector
		expected.Spec.Tolerations = template.Spec.Tolerations
		expected.Annotations, expected.Labels = template.Annotations, template.Labels
		expected.Spec.SchedulingGates = template.Spec.SchedulingGates
		copySuspendedResources(&expected.Spec, &template.Spec)
	}
	return checks.Immutable(*template, *expected, path)
}

// copySuspendedResources copies the resources of containers of from to the containers of to with the
// same name and index.
func copySuspendedResources(to, from *corev1.PodSpec) {
	copyResources := func(to, from []corev1.Container) {
		for i := range min(len(to), len(from)) {
			if to[i].Name == from[i].Name {
				to[i].Resources = from[i].Resources
			}
		}
	}
	copyResources(to.Containers, from.Containers)
	copyResources(to.InitContainers, from.InitContainers)
}

// ValidateJobStatusUpdate validates the counts, the completion time and that a finished Job stays finished.
func ValidateJobStatusUpdate(job, old *batchv1.Job) field.ErrorList {
	path, s := field.NewPath("status"), job.Status
	errs := checks.ObjectMetaUpdate(&job.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checks.NonNegative(s.Active, path.Child("active"))...)
	errs = append(errs, checks.NonNegative(s.Succeeded, path.Child("succeeded"))...)
	errs = append(errs, checks.NonNegative(s.Failed, path.Child("failed"))...)
	errs = append(errs, checks.NonNegativeIfSet(s.Ready, path.Child("ready"))...)
	errs = append(errs, checks.NonNegativeIfSet(s.Terminating, path.Child("terminating"))...)
	if s.Ready != nil && *s.Ready > s.Active {
		errs = append(errs, field.Invalid(path.Child("ready"), *s.Ready, "cannot set more ready pods than active"))
	}
	errs = append(errs, validateUncountedPods(s.UncountedTerminatedPods, path.Child("uncountedTerminatedPods"))...)
	complete, failed := isJobConditionTrue(s.Conditions, batchv1.JobComplete), isJobConditionTrue(s.Conditions, batchv1.JobFailed)
	if complete && failed {
		errs = append(errs, field.Invalid(path.Child("conditions"), field.OmitValueType{}, "cannot set Complete=True and Failed=true conditions"))
	}
	if s.CompletionTime != nil && !complete {
		errs = append(errs, field.Invalid(path.Child("completionTime"), s.CompletionTime, "cannot set completionTime when there is no Complete=True condition"))
	}
	for _, end := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		if isJobConditionTrue(old.Status.Conditions, end) && !isJobConditionTrue(s.Conditions, end) {
			errs = append(errs, field.Invalid(path.Child("conditions"), field.OmitValueType{}, fmt.Sprintf("cannot disable the terminal %s=True condition", end)))
		}
	}
	return errs
}

func isJobConditionTrue(conditions []batchv1.JobCondition, conditionType batchv1.JobConditionType) bool {
	for _, c := range conditions {
		if c.Type == conditionType {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// validateUncountedPods requires unique UIDs over both lists.
func validateUncountedPods(u *batchv1.UncountedTerminatedPods, path *field.Path) field.ErrorList {
	if u == nil {
		return nil
	}
	var errs field.ErrorList
	seen := map[types.UID]bool{}
	check := func(uids []types.UID, path *field.Path) {
		for i, uid := range uids {
			switch {
			case uid == "":
				errs = append(errs, field.Invalid(path.Index(i), uid, "must not be empty"))
			case seen[uid]:
				errs = append(errs, field.Duplicate(path.Index(i), uid))
			}
			seen[uid] = true
		}
	}
	check(u.Succeeded, path.Child("succeeded"))
	check(u.Failed, path.Child("failed"))
	return errs
}

// JobWarnings returns warnings about the name, the template and too many indexes.
func JobWarnings(ctx context.Context, job, old *batchv1.Job) []string {
	if old != nil {
		return append(indexWarning(&job.Spec), checks.TemplateWarnings(ctx, &job.Spec.Template, &old.Spec.Template, !checks.SemanticEqual(job.Spec, old.Spec))...)
	}
	warnings := append(checks.NameWarning(job.Name), indexWarning(&job.Spec)...)
	return append(warnings, checks.TemplateWarnings(ctx, &job.Spec.Template, nil, true)...)
}

func indexWarning(spec *batchv1.JobSpec) []string {
	if isIndexedJob(spec) && spec.Completions != nil && *spec.Completions > completionsSoftLimit && spec.Parallelism != nil && *spec.Parallelism > highCompletionsLimit {
		return []string{"In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"}
	}
	return nil
}
