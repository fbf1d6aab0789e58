package batch

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/podvalidation/podstrategy"
	"github.com/berthproject/berth/apiserver/podvalidation/podwarnings"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// maxCronJobName is the maximum length of a name. It leaves room for the suffix of 11 characters in
// the names of Jobs.
const maxCronJobName = 63 - 11

// DefaultCronJob sets concurrency policy, suspend, history limits and the defaults of the Job template.
func DefaultCronJob(cj *batchv1.CronJob) {
	defaulting.Set(&cj.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	defaulting.SetPointer(&cj.Spec.Suspend, false)
	defaulting.SetPointer(&cj.Spec.SuccessfulJobsHistoryLimit, 3)
	defaulting.SetPointer(&cj.Spec.FailedJobsHistoryLimit, 1)
	defaultJobTemplate(&cj.Spec.JobTemplate.Spec)
}

// PrepareCronJobForCreate clears fields of disabled feature gates.
func PrepareCronJobForCreate(cj *batchv1.CronJob) {
	podstrategy.PrepareTemplate(&cj.Spec.JobTemplate.Spec.Template, nil)
}

// PrepareCronJobForUpdate clears fields of disabled feature gates.
func PrepareCronJobForUpdate(cj, old *batchv1.CronJob) {
	podstrategy.PrepareTemplate(&cj.Spec.JobTemplate.Spec.Template, &old.Spec.JobTemplate.Spec.Template)
}

// ValidateCronJob validates a new CronJob.
func ValidateCronJob(cj *batchv1.CronJob) field.ErrorList {
	errs := checks.ObjectMeta(&cj.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateCronJobSpec(&cj.Spec, nil)...)
	return append(errs, validateCronJobName(cj.Name)...)
}

// ValidateCronJobUpdate validates an update. It accepts a stored name that is too long.
func ValidateCronJobUpdate(cj, old *batchv1.CronJob) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&cj.ObjectMeta, &old.ObjectMeta)
	return append(errs, validateCronJobSpec(&cj.Spec, &old.Spec)...)
}

func validateCronJobName(name string) field.ErrorList {
	if len(name) <= maxCronJobName {
		return nil
	}
	return field.ErrorList{field.Invalid(checks.MetadataPath.Child("name"), name, fmt.Sprintf("must be no more than %d characters", maxCronJobName))}
}

// validateCronJobSpec accepts deprecated values that the update does not change.
func validateCronJobSpec(spec, old *batchv1.CronJobSpec) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if spec.Schedule == "" {
		errs = append(errs, field.Required(path.Child("schedule"), ""))
	} else {
		oldHasZone := old != nil && strings.Contains(old.Schedule, "TZ")
		errs = append(errs, validateCronSchedule(spec.Schedule, oldHasZone, spec.TimeZone, path.Child("schedule"))...)
	}
	errs = append(errs, checks.NonNegativeIfSet(spec.StartingDeadlineSeconds, path.Child("startingDeadlineSeconds"))...)
	if old == nil || !checks.SemanticEqual(old.TimeZone, spec.TimeZone) {
		errs = append(errs, validateTimeZone(spec.TimeZone, path.Child("timeZone"))...)
	}
	policies := []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}
	if spec.ConcurrencyPolicy == "" {
		errs = append(errs, field.Required(path.Child("concurrencyPolicy"), ""))
	} else {
		errs = append(errs, checks.OneOf(spec.ConcurrencyPolicy, path.Child("concurrencyPolicy"), policies...)...)
	}
	errs = append(errs, validateJobTemplate(&spec.JobTemplate, path.Child("jobTemplate"))...)
	errs = append(errs, checks.NonNegativeIfSet(spec.SuccessfulJobsHistoryLimit, path.Child("successfulJobsHistoryLimit"))...)
	return append(errs, checks.NonNegativeIfSet(spec.FailedJobsHistoryLimit, path.Child("failedJobsHistoryLimit"))...)
}

func validateCronSchedule(schedule string, oldHasZone bool, zone *string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if reason := scheduleError(schedule); reason != "" {
		errs = append(errs, field.Invalid(path, schedule, reason))
	}
	switch hasZone := strings.Contains(schedule, "TZ"); {
	case oldHasZone && zone != nil && hasZone:
		errs = append(errs, field.Invalid(path, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
	case !oldHasZone && hasZone:
		errs = append(errs, field.Invalid(path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	}
	return errs
}

func validateTimeZone(zone *string, path *field.Path) field.ErrorList {
	switch {
	case zone == nil:
		return nil
	case *zone == "":
		return field.ErrorList{field.Invalid(path, zone, "timeZone must be nil or non-empty string")}
	case strings.EqualFold(*zone, "Local"):
		return field.ErrorList{field.Invalid(path, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")}
	}
	if _, err := time.LoadLocation(*zone); err != nil {
		return field.ErrorList{field.Invalid(path, zone, err.Error())}
	}
	return nil
}

// validateJobTemplate validates a Job template, which has no generated selector yet.
func validateJobTemplate(template *batchv1.JobTemplateSpec, path *field.Path) field.ErrorList {
	specPath := path.Child("spec")
	errs := validateJobSpec(&template.Spec, specPath)
	if template.Spec.ManualSelector != nil && *template.Spec.ManualSelector {
		errs = append(errs, field.NotSupported(specPath.Child("manualSelector"), template.Spec.ManualSelector, []string{"nil", "false"}))
	}
	if template.Spec.Selector != nil {
		errs = append(errs, field.Invalid(specPath.Child("selector"), template.Spec.Selector, "`selector` will be auto-generated"))
	}
	return errs
}

// CronJobWarnings warns of the name, a time zone in the schedule, and the template.
func CronJobWarnings(ctx context.Context, cj, old *batchv1.CronJob) []string {
	var warnings []string
	if old == nil {
		warnings = checks.NameWarning(cj.Name)
	}
	if strings.Contains(cj.Spec.Schedule, "TZ") {
		warnings = append(warnings, fmt.Sprintf("cannot use TZ or CRON_TZ in %s, use timeZone instead", field.NewPath("spec", "schedule")))
	}
	path, template := field.NewPath("spec", "jobTemplate", "spec", "template"), &cj.Spec.JobTemplate.Spec.Template
	switch {
	case old == nil:
		warnings = append(warnings, podwarnings.PodTemplateWarnings(ctx, path, template, nil)...)
	case !checks.SemanticEqual(cj.Spec, old.Spec):
		warnings = append(warnings, podwarnings.PodTemplateWarnings(ctx, path, template, &old.Spec.JobTemplate.Spec.Template)...)
	}
	return warnings
}
