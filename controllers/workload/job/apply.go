package job

import (
	"context"
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/controllers/podtemplate"
	workloadcontroller "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/engine/order"
	"github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/apierror"
	"github.com/berthproject/berth/internal/conversion"
)

// apply plans and executes the changes for a Job with these pods. wake is when to reconcile the Job again at the latest,
// zero if only an event can require it. action names the changes for metrics.
func (c *controller) apply(ctx context.Context, owner *workloadcontroller.Owner, job *batchv1.Job, pods []*corev1.Pod) (wake time.Time, action string, err error) {
	now := c.env.Now()
	machine, err := conversion.Job(job)
	if err != nil {
		return time.Time{}, actionTracking, err
	}
	observed := make([]workload.JobPod, len(pods))
	for i, p := range pods {
		observed[i] = conversion.JobPod(p)
		observed[i].Tracked = observed[i].Tracked && !c.untracked.has(p.UID)
	}
	plan := machine.Plan(now, observed)
	heldUntil := c.suppressCreation(job, &plan, now)
	action = actionOf(&plan)
	_, deleteErr := workloadcontroller.SlowStartBatch(c.env, len(plan.Delete), func(i int) error {
		p := pods[plan.Delete[i].Pod]
		if plan.Delete[i].RemoveFinalizer && isTracked(p) {
			if err := c.untrack(ctx, p); err != nil {
				return err
			}
		}
		return c.pods.Delete(ctx, owner, p)
	})
	created, createErr := workloadcontroller.SlowStartBatch(c.env, len(plan.Create), func(i int) error {
		pod := podtemplate.JobPod(job, owner.Reference(), plan.Create[i])
		pod.Name = pod.GenerateName + c.env.NameSuffix()
		return c.pods.Create(ctx, owner, pod)
	})
	if len(plan.Create) > 0 {
		c.metrics.observeCreations(job, &plan.Status, created, len(plan.Create)-created)
	}
	plan.Status.Active -= int32(len(plan.Create) - created)
	if workloadcontroller.IsNamespaceTerminating(createErr) {
		createErr = nil // the namespace controller deletes the other objects
	}
	if err := c.updateStatus(ctx, job, &plan); err != nil {
		return time.Time{}, action, errors.Join(deleteErr, createErr, err)
	}
	// The finalizers are removed after the status update, which counts the pods.
	_, untrackErr := workloadcontroller.SlowStartBatch(c.env, len(plan.RemoveFinalizers), func(i int) error { return c.untrack(ctx, pods[plan.RemoveFinalizers[i]]) })
	if err := errors.Join(deleteErr, createErr, untrackErr); err != nil {
		return time.Time{}, action, err
	}
	expires, err := c.deleteExpired(ctx, job, &plan.Status, now)
	return order.Earliest(plan.Wake, heldUntil, expires), action, err
}

func actionOf(plan *workload.JobPlan) string {
	switch {
	case len(plan.Create) > 0:
		return actionCreated
	case len(plan.Delete) > 0:
		return actionDeleted
	}
	return actionTracking
}

// suppressCreation removes pod creations from the plan if the template names a node that the Job's pods must avoid. It
// returns when that ends, or zero.
func (c *controller) suppressCreation(job *batchv1.Job, plan *workload.JobPlan, now time.Time) (until time.Time) {
	node := job.Spec.Template.Spec.NodeName
	if node == "" || len(plan.Create) == 0 {
		return time.Time{}
	}
	until, reason := c.avoidHolds.NotBefore(now, job.UID, node, nil)
	if until.IsZero() {
		return until
	}
	plan.Status.Active -= int32(len(plan.Create))
	plan.Create = nil
	if c.dedup.ShouldRecord(job.UID, node, until) {
		c.events.Event(job, corev1.EventTypeWarning, workloadcontroller.BackOffReason, reason)
	}
	return until
}

// updateStatus writes the status if it has changed, and then records the events.
func (c *controller) updateStatus(ctx context.Context, job *batchv1.Job, plan *workload.JobPlan) error {
	status := statusOf(&job.Status, &plan.Status)
	if equality.Semantic.DeepEqual(job.Status, status) {
		return nil
	}
	old := job
	job = job.DeepCopy()
	job.Status = status
	job, err := c.client.BatchV1().Jobs(job.Namespace).UpdateStatus(ctx, job, metav1.UpdateOptions{})
	if err != nil {
		return apierror.IgnoreNotFound(err)
	}
	c.writes.record(job)
	c.metrics.observeStatus(old, job)
	for _, e := range plan.Events {
		eventType := corev1.EventTypeNormal
		if e.Warning {
			eventType = corev1.EventTypeWarning
		}
		c.events.Event(old, eventType, e.Reason, e.Message)
	}
	return nil
}

// deleteExpired deletes a finished Job after its TTL. It returns when to try the deletion of a Job that it kept, or zero.
func (c *controller) deleteExpired(ctx context.Context, job *batchv1.Job, status *workload.JobStatus, now time.Time) (at time.Time, err error) {
	finished, finishedAt := status.Finished()
	if !finished || job.Spec.TTLSecondsAfterFinished == nil || job.DeletionTimestamp != nil {
		return time.Time{}, nil
	}
	if at = finishedAt.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second); at.After(now) {
		return at, nil
	}
	current, err := c.client.BatchV1().Jobs(job.Namespace).Get(ctx, job.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && current.UID != job.UID {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	if current.ResourceVersion != job.ResourceVersion {
		return now.Add(time.Second), nil // the cache lags; the TTL may have been extended
	}
	background := metav1.DeletePropagationBackground
	err = c.client.BatchV1().Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{
		PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &job.UID, ResourceVersion: &current.ResourceVersion},
	})
	if apierrors.IsNotFound(err) {
		return time.Time{}, nil
	}
	return time.Time{}, err
}
