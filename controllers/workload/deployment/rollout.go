package deployment

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/controllers/podtemplate"
	workloadcontroller "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/conversion"
)

// rollout is one reconciliation of a Deployment.
type rollout struct {
	*controller
	d     *appsv1.Deployment
	owner *workloadcontroller.Owner
	sets  []*appsv1.ReplicaSet
	plan  workload.DeploymentPlan
}

// run plans and executes the next step, and writes the status.
func (r *rollout) run(ctx context.Context) (requeueAfter time.Duration, err error) {
	now := r.env.Now()
	machine := conversion.Deployment(r.d)
	name := r.d.Name + "-" + podtemplate.Hash(&r.d.Spec.Template, r.d.Status.CollisionCount)
	observed := make([]workload.Set, len(r.sets))
	oldPods := false
	var first *appsv1.ReplicaSet // the oldest with the current template
	for i, rs := range r.sets {
		current := podtemplate.Equal(&rs.Spec.Template, &r.d.Spec.Template)
		observed[i] = conversion.DeploymentReplicaSet(rs, current)
		if current && (first == nil || rs.CreationTimestamp.Before(&first.CreationTimestamp)) {
			first, name = rs, rs.Name
		}
		oldPods = oldPods || machine.Recreate && !current && r.hasRunningPods(rs)
	}
	r.plan = machine.Plan(now, observed, name, oldPods)
	if err := r.apply(ctx, name); err != nil {
		return 0, err
	}
	if err := r.updateStatus(ctx); err != nil {
		return 0, err
	}
	if oldPods {
		requeueAfter = recreatePollInterval
	} else if len(r.writes.forDeployment(r.d)) > 0 {
		requeueAfter = cacheLagTimeout
	}
	return workloadcontroller.EarliestRequeue(r.env.Now(), requeueAfter, r.plan.Wake), nil
}

// apply executes the plan.
func (r *rollout) apply(ctx context.Context, name string) error {
	if r.plan.Create {
		if err := r.create(ctx, name); err != nil {
			return err
		}
	}
	for _, sc := range r.plan.Scale {
		if err := r.scale(ctx, sc); err != nil {
			return err
		}
	}
	for _, i := range r.plan.Annotate {
		if err := r.update(ctx, i, func(rs *appsv1.ReplicaSet) { r.setReplicasAnnotations(rs) }); err != nil {
			return err
		}
	}
	if i := r.plan.Current; i >= 0 && r.d.DeletionTimestamp == nil && r.needsAnnotations(r.sets[i]) {
		if err := r.update(ctx, i, r.setAnnotations); err != nil {
			return err
		}
	}
	for _, i := range r.plan.Delete {
		rs := r.sets[i]
		err := r.client.AppsV1().ReplicaSets(rs.Namespace).Delete(ctx, rs.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &rs.UID}})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting old ReplicaSet %s: %w", rs.Name, err)
		}
	}
	return nil
}

// create creates the ReplicaSet of the current template.
func (r *rollout) create(ctx context.Context, name string) error {
	hash := podtemplate.Hash(&r.d.Spec.Template, r.d.Status.CollisionCount)
	pods := r.d.Spec.Template.DeepCopy()
	if pods.Labels == nil {
		pods.Labels = map[string]string{}
	}
	pods.Labels[podtemplate.HashLabel] = hash
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: r.d.Namespace, Labels: pods.Labels, Annotations: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{r.owner.Reference()},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &r.plan.CreateReplicas, Selector: podtemplate.WithLabel(r.d.Spec.Selector, podtemplate.HashLabel, hash), Template: *pods,
		},
	}
	r.setAnnotations(rs)
	r.setReplicasAnnotations(rs)
	created, err := r.client.AppsV1().ReplicaSets(r.d.Namespace).Create(ctx, rs, metav1.CreateOptions{})
	switch {
	case err == nil:
		r.writes.record(r.d, created)
		if r.plan.CreateReplicas > 0 {
			r.recordScaling(created.Name, 0, r.plan.CreateReplicas)
		}
		return nil
	case apierrors.IsAlreadyExists(err):
		return r.resolveCollision(ctx, name, err)
	case workloadcontroller.IsNamespaceTerminating(err):
		return nil
	}
	return r.reportCreateFailure(ctx, name, err)
}

// resolveCollision handles a name that is in use. Its object is the desired ReplicaSet, which the
// cache does not show yet, or another one. Then a new name is needed.
func (r *rollout) resolveCollision(ctx context.Context, name string, cause error) error {
	existing, err := r.client.AppsV1().ReplicaSets(r.d.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading ReplicaSet %s: %w", name, err)
	}
	if metav1.IsControlledBy(existing, r.d) && podtemplate.Equal(&existing.Spec.Template, &r.d.Spec.Template) {
		r.writes.record(r.d, existing)
		return cause // the retry uses the existing ReplicaSet
	}
	d := r.d.DeepCopy()
	n := int32(1)
	if d.Status.CollisionCount != nil {
		n += *d.Status.CollisionCount
	}
	d.Status.CollisionCount = &n
	if _, err := r.client.AppsV1().Deployments(d.Namespace).UpdateStatus(ctx, d, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("counting the collision of ReplicaSet %s: %w", name, err)
	}
	return fmt.Errorf("ReplicaSet %s belongs to another object; retrying with a new name: %w", name, cause)
}

// reportCreateFailure reports the failure in a condition and an event.
func (r *rollout) reportCreateFailure(ctx context.Context, name string, cause error) error {
	message := fmt.Sprintf("Failed to create new replica set %q: %v", name, cause)
	r.events.Event(r.d, corev1.EventTypeWarning, workload.FailedRSCreateReason, message)
	r.plan.Status.Conditions = r.plan.Status.Conditions.With(r.env.Now(), workload.Condition{
		Type: workload.Progressing, Status: workload.False, Reason: workload.FailedRSCreateReason, Message: message,
	})
	if err := r.updateStatus(ctx); err != nil {
		return err
	}
	return fmt.Errorf("creating ReplicaSet %s: %w", name, cause)
}

func (r *rollout) scale(ctx context.Context, sc workload.Scaling) error {
	from := *r.sets[sc.Set].Spec.Replicas
	err := r.update(ctx, sc.Set, func(rs *appsv1.ReplicaSet) {
		rs.Spec.Replicas = &sc.To
		r.setReplicasAnnotations(rs)
	})
	if err == nil {
		r.recordScaling(r.sets[sc.Set].Name, from, sc.To)
	}
	return err
}

func (r *rollout) recordScaling(set string, from, to int32) {
	direction := "up"
	if to < from {
		direction = "down"
	}
	r.events.Eventf(r.d, corev1.EventTypeNormal, "ScalingReplicaSet", "Scaled %s replica set %s from %d to %d", direction, set, from, to)
}

// update updates a ReplicaSet that is unchanged since it was read.
func (r *rollout) update(ctx context.Context, i int, change func(*appsv1.ReplicaSet)) error {
	rs := r.sets[i].DeepCopy()
	if rs.Annotations == nil {
		rs.Annotations = map[string]string{}
	}
	change(rs)
	updated, err := r.client.AppsV1().ReplicaSets(rs.Namespace).Update(ctx, rs, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("updating ReplicaSet %s: %w", rs.Name, err)
	}
	r.sets[i] = updated
	r.writes.record(r.d, updated)
	return nil
}
