package cronjob

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workloadcontroller "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/engine/workload"
)

// reconciliation is one reconciliation of a CronJob.
type reconciliation struct {
	*controller
	now  time.Time
	old  *batchv1.CronJob // as cached, for events and comparison
	cj   *batchv1.CronJob // with the new status
	jobs []*batchv1.Job
}

// finishedCondition returns the condition with which a Job finished, and its time. It returns "" if the Job is active.
func finishedCondition(j *batchv1.Job) (conditionType batchv1.JobConditionType, at time.Time) {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.Type, c.LastTransitionTime.Time
		}
	}
	return "", time.Time{}
}

// updateActive updates the active Jobs and the last successful time in the status.
func (r *reconciliation) updateActive(ctx context.Context) error {
	s, existing := &r.cj.Status, map[types.UID]*batchv1.Job{}
	var active []corev1.ObjectReference
	slices.SortFunc(r.jobs, func(a, b *batchv1.Job) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, j := range r.jobs {
		existing[j.UID] = j
		condition, _ := finishedCondition(j)
		switch {
		case condition == "":
			active = append(active, jobReference(j))
		case condition == batchv1.JobComplete && j.Status.CompletionTime != nil && (s.LastSuccessfulTime == nil || s.LastSuccessfulTime.Before(j.Status.CompletionTime)):
			s.LastSuccessfulTime = j.Status.CompletionTime.DeepCopy()
		}
	}
	for _, ref := range r.old.Status.Active {
		if j := existing[ref.UID]; j != nil {
			if condition, _ := finishedCondition(j); condition != "" {
				r.events.Eventf(r.old, corev1.EventTypeNormal, "SawCompletedJob", "Saw completed job: %s, condition: %v", j.Name, condition)
			}
			continue
		}
		current, err := r.client.BatchV1().Jobs(r.cj.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		switch {
		case err == nil && current.UID == ref.UID:
			active = append(active, ref) // not in the cache yet
		case err == nil || apierrors.IsNotFound(err):
			r.events.Eventf(r.old, corev1.EventTypeNormal, "MissingJob", "Active job went missing: %v", ref.Name)
		default:
			return err
		}
	}
	s.Active = active
	return nil
}

func jobReference(j *batchv1.Job) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Namespace: j.Namespace, Name: j.Name, UID: j.UID, ResourceVersion: j.ResourceVersion}
}

// schedule creates a Job if one is due. It returns the next scheduled time, or zero if there is none.
func (r *reconciliation) schedule(ctx context.Context) (wake time.Time, err error) {
	schedule, reason, err := scheduleOf(r.cj)
	if err != nil {
		r.events.Event(r.old, corev1.EventTypeWarning, reason, err.Error())
		return time.Time{}, nil // a change of the CronJob enqueues it again
	}
	plan := newCronJob(r.cj, schedule, len(r.cj.Status.Active)).Plan(r.now)
	if plan.Missed > workload.TooManyMissed && r.dedup.ShouldRecord(r.cj.UID, "missed", plan.Due) {
		r.events.Eventf(r.old, corev1.EventTypeWarning, "TooManyMissedTimes", "too many missed start times: more than %d. Set or decrease .spec.startingDeadlineSeconds or check clock skew", workload.TooManyMissed)
	}
	switch {
	case plan.DeadlineMissed && r.dedup.ShouldRecord(r.cj.UID, "late", plan.Due):
		r.events.Eventf(r.old, corev1.EventTypeWarning, "MissSchedule", "Missed scheduled time to start a job: %s", plan.Due.UTC().Format(time.RFC1123Z))
	case plan.StillActive && r.dedup.ShouldRecord(r.cj.UID, "busy", plan.Due):
		r.events.Event(r.old, corev1.EventTypeNormal, "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")
	case plan.Create:
		return plan.Next, r.createJob(ctx, plan.Due, plan.Replace)
	}
	return plan.Next, nil
}

// createJob creates the Job for a scheduled time. With replace it first deletes the active Jobs.
func (r *reconciliation) createJob(ctx context.Context, due time.Time, replace bool) error {
	if replace {
		for _, ref := range r.cj.Status.Active {
			if err := r.deleteJob(ctx, ref.Name, ref.UID); err != nil {
				return err
			}
		}
		r.cj.Status.Active = nil
	}
	job := jobOf(r.cj, due)
	created, err := r.client.BatchV1().Jobs(job.Namespace).Create(ctx, job, metav1.CreateOptions{})
	switch {
	case err == nil:
		r.events.Eventf(r.old, corev1.EventTypeNormal, workloadcontroller.SuccessfulCreate, "Created job %v", created.Name)
		r.skew.Observe(max(0, created.CreationTimestamp.Sub(due).Seconds()))
	case apierrors.IsAlreadyExists(err):
		// The Job was created before a crash and is missing in the status, or another object has the name.
		if created, err = r.client.BatchV1().Jobs(job.Namespace).Get(ctx, job.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		if !metav1.IsControlledBy(created, r.old) {
			return fmt.Errorf("job %s/%s of cronjob %s already exists and belongs to another object", job.Namespace, job.Name, r.cj.Name)
		}
	case workloadcontroller.IsNamespaceTerminating(err):
		return nil
	default:
		r.events.Eventf(r.old, corev1.EventTypeWarning, workloadcontroller.FailedCreate, "Error creating job: %v", err)
		return err
	}
	exists := slices.ContainsFunc(r.cj.Status.Active, func(ref corev1.ObjectReference) bool { return ref.UID == created.UID })
	if condition, _ := finishedCondition(created); condition == "" && !exists {
		r.cj.Status.Active = append(r.cj.Status.Active, jobReference(created))
	}
	r.cj.Status.LastScheduleTime = &metav1.Time{Time: due}
	return nil
}

// jobOf returns the Job of a CronJob for a scheduled time.
func jobOf(cj *batchv1.CronJob, due time.Time) *batchv1.Job {
	t := cj.Spec.JobTemplate.DeepCopy()
	annotations := maps.Clone(t.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	at := due
	if cj.Spec.TimeZone != nil {
		if zone, err := time.LoadLocation(*cj.Spec.TimeZone); err == nil {
			at = due.In(zone)
		}
	}
	annotations[batchv1.CronJobScheduledTimestampAnnotation] = at.Format(time.RFC3339)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cj.Namespace, Name: fmt.Sprintf("%s-%d", cj.Name, due.Unix()/60), Labels: t.Labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cj, Kind)},
		},
		Spec: t.Spec,
	}
}

func (r *reconciliation) deleteJob(ctx context.Context, name string, uid types.UID) error {
	background := metav1.DeletePropagationBackground
	err := r.client.BatchV1().Jobs(r.cj.Namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid}})
	switch {
	case err == nil:
		r.events.Eventf(r.old, corev1.EventTypeNormal, workloadcontroller.SuccessfulDelete, "Deleted job %v", name)
	case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
		r.events.Eventf(r.old, corev1.EventTypeWarning, workloadcontroller.FailedDelete, "Deleted job: %v", err)
		return err
	}
	return nil
}

// cleanUpFinishedJobs deletes finished Jobs beyond the history limits.
func (r *reconciliation) cleanUpFinishedJobs(ctx context.Context) error {
	var finishedJobs []workload.FinishedJob
	var jobs []*batchv1.Job
	for _, j := range r.jobs {
		condition, at := finishedCondition(j)
		if condition == "" || j.DeletionTimestamp != nil {
			continue
		}
		f := workload.FinishedJob{Name: j.Name, Failed: condition == batchv1.JobFailed, Finished: at}
		if j.Status.StartTime != nil {
			f.Started = j.Status.StartTime.Time
		}
		finishedJobs, jobs = append(finishedJobs, f), append(jobs, j)
	}
	for _, i := range workload.ExcessJobs(finishedJobs, r.cj.Spec.SuccessfulJobsHistoryLimit, r.cj.Spec.FailedJobsHistoryLimit) {
		if err := r.deleteJob(ctx, jobs[i].Name, jobs[i].UID); err != nil {
			return err
		}
	}
	return nil
}

// updateStatus writes the status if it has changed.
func (r *reconciliation) updateStatus(ctx context.Context) error {
	if equality.Semantic.DeepEqual(withoutVersions(r.old.Status), withoutVersions(r.cj.Status)) {
		return nil
	}
	_, err := r.client.BatchV1().CronJobs(r.cj.Namespace).UpdateStatus(ctx, r.cj, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if last := r.cj.Status.LastScheduleTime; err == nil && last != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lastCreates[r.cj.UID] = lastCreate{last.Time, r.now}
	}
	return err
}

// withoutVersions removes the resource versions of active Jobs, which change with each of their pods.
func withoutVersions(s batchv1.CronJobStatus) *batchv1.CronJobStatus {
	out := s.DeepCopy()
	for i := range out.Active {
		out.Active[i].ResourceVersion = ""
	}
	return out
}
