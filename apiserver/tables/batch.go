package tables

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

func batchTable(resource schema.GroupResource) (Table, bool) {
	containers, images := containersAndImages()
	selector := wide(stringColumn("Selector", "Selector of the pods."))
	switch resource {
	case batchv1.Resource("jobs"):
		return newTable(jobRow, nameColumn(), stringColumn("Status", "Status of the job."), stringColumn("Completions", "Successful and desired number of completions."),
			stringColumn("Duration", "Duration of the job."), ageColumn(), containers, images, selector)
	case batchv1.Resource("cronjobs"):
		return newTable(cronJobRow, nameColumn(), stringColumn("Schedule", "Schedule of the jobs."), stringColumn("Timezone", "Time zone of the schedule."),
			booleanColumn("Suspend", "Whether the schedule is suspended."), integerColumn("Active", "Number of running jobs."), stringColumn("Last Schedule", "Time since the last scheduled job."),
			ageColumn(), containers, images, selector)
	}
	return Table{}, false
}

func jobRow(job *batchv1.Job) []any {
	var completions string
	switch parallel := deref(job.Spec.Parallelism, 0); {
	case job.Spec.Completions != nil:
		completions = fmt.Sprintf("%d/%d", job.Status.Succeeded, *job.Spec.Completions)
	case parallel > 1:
		completions = fmt.Sprintf("%d/1 of %d", job.Status.Succeeded, parallel)
	default:
		completions = fmt.Sprintf("%d/1", job.Status.Succeeded)
	}
	elapsed := ""
	if start := job.Status.StartTime; start != nil {
		end := time.Now()
		if job.Status.CompletionTime != nil {
			end = job.Status.CompletionTime.Time
		}
		elapsed = duration.HumanDuration(end.Sub(start.Time))
	}
	names, images := containerCells(job.Spec.Template.Spec.Containers)
	return []any{job.Name, jobStatus(job), completions, elapsed, age(&job.ObjectMeta), names, images, metav1.FormatLabelSelector(job.Spec.Selector)}
}

func jobStatus(job *batchv1.Job) string {
	isTrue := func(conditionType batchv1.JobConditionType) bool {
		for _, c := range job.Status.Conditions {
			if c.Type == conditionType {
				return c.Status == corev1.ConditionTrue
			}
		}
		return false
	}
	switch {
	case isTrue(batchv1.JobComplete):
		return "Complete"
	case isTrue(batchv1.JobFailed):
		return "Failed"
	case job.DeletionTimestamp != nil:
		return "Terminating"
	case isTrue(batchv1.JobSuspended):
		return "Suspended"
	case isTrue(batchv1.JobFailureTarget):
		return "FailureTarget"
	case isTrue(batchv1.JobSuccessCriteriaMet):
		return "SuccessCriteriaMet"
	}
	return "Running"
}

func cronJobRow(cj *batchv1.CronJob) []any {
	last := "<none>"
	if cj.Status.LastScheduleTime != nil {
		last = timestampSince(*cj.Status.LastScheduleTime)
	}
	suspended := "<unset>"
	if cj.Spec.Suspend != nil {
		suspended = map[bool]string{true: "True", false: "False"}[*cj.Spec.Suspend]
	}
	names, images := containerCells(cj.Spec.JobTemplate.Spec.Template.Spec.Containers)
	return []any{cj.Name, cj.Spec.Schedule, deref(cj.Spec.TimeZone, "<none>"), suspended, int64(len(cj.Status.Active)), last, age(&cj.ObjectMeta),
		names, images, metav1.FormatLabelSelector(cj.Spec.JobTemplate.Spec.Selector)}
}
