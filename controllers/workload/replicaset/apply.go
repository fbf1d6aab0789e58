package replicaset

import (
	"cmp"
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/controllers/podtemplate"
	workloadcontroller "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/apierror"
	"github.com/berthproject/berth/internal/conversion"
)

// apply plans and executes the changes for a ReplicaSet with these pods, and writes the status.
func (c *controller) apply(ctx context.Context, owner *workloadcontroller.Owner, rs *appsv1.ReplicaSet, pods []*corev1.Pod) (wake time.Time, err error) {
	now := c.env.Now()
	machine := conversion.ReplicaSet(rs)
	observed, failures := convertPods(pods)
	notBefore, backoffReason := c.avoidHolds.NotBefore(now, rs.UID, machine.Node, failures)
	plan := machine.Plan(now, observed, c.podsPerNode(rs, machine.Replicas, pods, observed), notBefore)
	if plan.Delayed > 0 {
		c.recordBackoff(owner.Object, notBefore, backoffReason)
	}
	reason, message := "", ""
	switch {
	case plan.Create > 0:
		_, err = workloadcontroller.SlowStartBatch(c.env, int(plan.Create), func(int) error {
			return c.pods.Create(ctx, owner, podtemplate.Pod(&rs.Spec.Template, rs.Namespace, owner.Reference()))
		})
		if workloadcontroller.IsNamespaceTerminating(err) {
			err = nil // the namespace controller deletes the other objects
		}
		reason = workloadcontroller.FailedCreate
	case len(plan.Delete) > 0:
		_, err = workloadcontroller.SlowStartBatch(c.env, len(plan.Delete), func(i int) error { return c.pods.Delete(ctx, owner, pods[plan.Delete[i]]) })
		reason = workloadcontroller.FailedDelete
	}
	if err == nil {
		reason = ""
	} else {
		message = cmp.Or(errors.Unwrap(err), err).Error() // the error of the API server, as upstream does
	}
	plan.Status.Conditions = plan.Status.Conditions.WithReplicaFailure(now, reason, message)
	if e := c.writeStatus(ctx, owner.Object, rs, &plan.Status); e != nil && err == nil {
		err = e
	}
	return plan.Wake, err
}

func convertPods(pods []*corev1.Pod) (observed []workload.Pod, failures []workload.PodFailure) {
	for _, p := range pods {
		observed = append(observed, conversion.WorkloadPod(p))
		if f, ok := workload.FailureOf(&observed[len(observed)-1]); ok && p.Status.Phase == corev1.PodFailed {
			failures = append(failures, f)
		}
	}
	return observed, failures
}

// podsPerNode counts, by node, the pods of the ReplicaSet and of the other ReplicaSets of its Deployment. It returns
// nil if there are no pods to delete.
func (c *controller) podsPerNode(rs *appsv1.ReplicaSet, replicas int32, pods []*corev1.Pod, observed []workload.Pod) map[string]int {
	if int(replicas) >= len(pods) {
		return nil
	}
	counts := workload.CountActiveByNode(observed)
	ref := metav1.GetControllerOfNoCopy(rs)
	if ref == nil {
		return counts
	}
	siblings := workloadcontroller.Controlled[*appsv1.ReplicaSet](c.informer, &metav1.ObjectMeta{UID: ref.UID, Namespace: rs.Namespace}, false)
	for _, sibling := range siblings {
		if sibling.UID != rs.UID {
			siblingPods, _ := convertPods(c.pods.ListOwned(sibling))
			for node, n := range workload.CountActiveByNode(siblingPods) {
				counts[node] += n
			}
		}
	}
	return counts
}

// recordBackoff records one event for each backoff.
func (c *controller) recordBackoff(owner workloadcontroller.Object, until time.Time, reason string) {
	c.mu.Lock()
	recorded := c.backoffUntil[owner.GetUID()].Equal(until)
	c.backoffUntil[owner.GetUID()] = until
	for uid, t := range c.backoffUntil {
		if c.env.Since(t) > time.Hour {
			delete(c.backoffUntil, uid)
		}
	}
	c.mu.Unlock()
	if !recorded {
		c.events.Event(owner, corev1.EventTypeWarning, workloadcontroller.BackOffReason, reason)
	}
}

// writeStatus writes the status if it has changed.
func (c *controller) writeStatus(ctx context.Context, owner workloadcontroller.Object, rs *appsv1.ReplicaSet, n *workload.ReplicaSetStatus) error {
	status := appsv1.ReplicaSetStatus{
		Replicas: n.Replicas, FullyLabeledReplicas: n.FullyLabeled, ReadyReplicas: n.Ready, AvailableReplicas: n.Available, ObservedGeneration: n.Observed,
	}
	if c.kind == Kind {
		status.TerminatingReplicas = &n.Terminating
	}
	for _, condition := range n.Conditions {
		status.Conditions = append(status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetConditionType(condition.Type), Status: corev1.ConditionStatus(condition.Status), Reason: condition.Reason, Message: condition.Message, LastTransitionTime: metav1.NewTime(condition.Changed),
		})
	}
	if equality.Semantic.DeepEqual(rs.Status, status) {
		return nil
	}
	err := c.updateStatus(ctx, owner, status)
	return apierror.IgnoreNotFound(err)
}
