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
func (s *rollout) run(ctx context.Context) (requeueAfter time.Duration, err error) {
	now := s.env.Now()
	machine := conversion.Deployment(s.d)
	name := s.d.Name + "-" + podtemplate.Hash(&s.d.Spec.Template, s.d.Status.CollisionCount)
	observed := make([]workload.Set, len(s.sets))
	oldPods := false
	var first *appsv1.ReplicaSet // the oldest with the current template
	for i, rs := range s.sets {
		current := podtemplate.Equal(&rs.Spec.Template, &s.d.Spec.Template)
		observed[i] = conversion.DeploymentReplicaSet(rs, current)
		if current && (first == nil || rs.CreationTimestamp.Before(&first.CreationTimestamp)) {
			first, name = rs, rs.Name
		}
		oldPods = oldPods || machine.Recreate && !current && s.hasRunningPods(rs)
	}
	s.plan = machine.Plan(now, observed, name, oldPods)
	if err := s.apply(ctx, name); err != nil {
		return 0, err
	}
	if err := s.updateStatus(ctx); err != nil {
		return 0, err
	}
	if oldPods {
		requeueAfter = recreatePollInterval
	} else if len(s.writes.forDeployment(s.d)) > 0 {
		requeueAfter = cacheLagTimeout
	}
	return workloadcontroller.EarliestRequeue(s.env.Now(), requeueAfter, s.plan.Wake), nil
}

// apply executes the plan.
func (s *rollout) apply(ctx context.Context, name string) error {
	if s.plan.Create {
		if err := s.create(ctx, name); err != nil {
			return err
		}
	}
	for _, sc := range s.plan.Scale {
		if err := s.scale(ctx, sc); err != nil {
			return err
		}
	}
	for _, i := range s.plan.Annotate {
		if err := s.update(ctx, i, func(rs *appsv1.ReplicaSet) { s.setReplicasAnnotations(rs) }); err != nil {
			return err
		}
	}
	if i := s.plan.Current; i >= 0 && s.d.DeletionTimestamp == nil && s.needsAnnotations(s.sets[i]) {
		if err := s.update(ctx, i, s.setAnnotations); err != nil {
			return err
		}
	}
	for _, i := range s.plan.Delete {
		rs := s.sets[i]
		err := s.client.AppsV1().ReplicaSets(rs.Namespace).Delete(ctx, rs.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &rs.UID}})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting old ReplicaSet %s: %w", rs.Name, err)
		}
	}
	return nil
}

// create creates the ReplicaSet of the current template.
func (s *rollout) create(ctx context.Context, name string) error {
	hash := podtemplate.Hash(&s.d.Spec.Template, s.d.Status.CollisionCount)
	pods := s.d.Spec.Template.DeepCopy()
	if pods.Labels == nil {
		pods.Labels = map[string]string{}
	}
	pods.Labels[podtemplate.HashLabel] = hash
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: s.d.Namespace, Labels: pods.Labels, Annotations: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{s.owner.Reference()},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &s.plan.CreateReplicas, Selector: podtemplate.WithLabel(s.d.Spec.Selector, podtemplate.HashLabel, hash), Template: *pods,
		},
	}
	s.setAnnotations(rs)
	s.setReplicasAnnotations(rs)
	created, err := s.client.AppsV1().ReplicaSets(s.d.Namespace).Create(ctx, rs, metav1.CreateOptions{})
	switch {
	case err == nil:
		s.writes.record(s.d, created)
		if s.plan.CreateReplicas > 0 {
			s.recordScaling(created.Name, 0, s.plan.CreateReplicas)
		}
		return nil
	case apierrors.IsAlreadyExists(err):
		return s.resolveCollision(ctx, name, err)
	case workloadcontroller.IsNamespaceTerminating(err):
		return nil
	}
	return s.reportCreateFailure(ctx, name, err)
}

// resolveCollision handles a name that is in use. Its object is the desired ReplicaSet, which the
// cache does not show yet, or another one. Then a new name is needed.
func (s *rollout) resolveCollision(ctx context.Context, name string, cause error) error {
	existing, err := s.client.AppsV1().ReplicaSets(s.d.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading ReplicaSet %s: %w", name, err)
	}
	if metav1.IsControlledBy(existing, s.d) && podtemplate.Equal(&existing.Spec.Template, &s.d.Spec.Template) {
		s.writes.record(s.d, existing)
		return cause // the retry uses the existing ReplicaSet
	}
	d := s.d.DeepCopy()
	n := int32(1)
	if d.Status.CollisionCount != nil {
		n += *d.Status.CollisionCount
	}
	d.Status.CollisionCount = &n
	if _, err := s.client.AppsV1().Deployments(d.Namespace).UpdateStatus(ctx, d, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("counting the collision of ReplicaSet %s: %w", name, err)
	}
	return fmt.Errorf("ReplicaSet %s belongs to another object; retrying with a new name: %w", name, cause)
}

// reportCreateFailure reports the failure in a condition and an event.
func (s *rollout) reportCreateFailure(ctx context.Context, name string, cause error) error {
	message := fmt.Sprintf("Failed to create new replica set %q: %v", name, cause)
	s.events.Event(s.d, corev1.EventTypeWarning, workload.FailedRSCreateReason, message)
	s.plan.Status.Conditions = s.plan.Status.Conditions.With(s.env.Now(), workload.Condition{
		Type: workload.Progressing, Status: workload.False, Reason: workload.FailedRSCreateReason, Message: message,
	})
	if err := s.updateStatus(ctx); err != nil {
		return err
	}
	return fmt.Errorf("creating ReplicaSet %s: %w", name, cause)
}

func (s *rollout) scale(ctx context.Context, sc workload.Scaling) error {
	from := *s.sets[sc.Set].Spec.Replicas
	err := s.update(ctx, sc.Set, func(rs *appsv1.ReplicaSet) {
		rs.Spec.Replicas = &sc.To
		s.setReplicasAnnotations(rs)
	})
	if err == nil {
		s.recordScaling(s.sets[sc.Set].Name, from, sc.To)
	}
	return err
}

func (s *rollout) recordScaling(set string, from, to int32) {
	direction := "up"
	if to < from {
		direction = "down"
	}
	s.events.Eventf(s.d, corev1.EventTypeNormal, "ScalingReplicaSet", "Scaled %s replica set %s from %d to %d", direction, set, from, to)
}

// update updates a ReplicaSet that is unchanged since it was read.
func (s *rollout) update(ctx context.Context, i int, change func(*appsv1.ReplicaSet)) error {
	rs := s.sets[i].DeepCopy()
	if rs.Annotations == nil {
		rs.Annotations = map[string]string{}
	}
	change(rs)
	updated, err := s.client.AppsV1().ReplicaSets(rs.Namespace).Update(ctx, rs, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("updating ReplicaSet %s: %w", rs.Name, err)
	}
	s.sets[i] = updated
	s.writes.record(s.d, updated)
	return nil
}
