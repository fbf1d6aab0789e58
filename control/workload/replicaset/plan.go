package replicaset

import (
	"cmp"
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/control/template"
	shared "github.com/berthproject/berth/control/workload"
	"github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/intake"
)

// carryOut plans what to do about a ReplicaSet with these pods, does it, and writes the status.
func (s *shell) carryOut(ctx context.Context, owner *shared.Owner, rs *appsv1.ReplicaSet, pods []*corev1.Pod) (wake time.Time, err error) {
	now := time.Now()
	machine := intake.ReplicaSet(rs)
	seen, deaths := compile(pods)
	notBefore, why := s.avoid.NotBefore(now, rs.UID, machine.Node, deaths)
	plan := machine.Plan(now, seen, s.crowd(rs, machine.Replicas, pods, seen), notBefore)
	if plan.Held > 0 {
		s.say(owner.Object, notBefore, why)
	}
	reason, message := "", ""
	switch {
	case plan.Create > 0:
		_, err = shared.Slowly(int(plan.Create), func(int) error {
			return s.pods.Create(ctx, owner, template.Pod(&rs.Spec.Template, rs.Namespace, owner.Reference()))
		})
		if shared.TerminatingNamespace(err) {
			err = nil // what is left goes with the namespace
		}
		reason = shared.FailedCreate
	case len(plan.Delete) > 0:
		_, err = shared.Slowly(len(plan.Delete), func(i int) error { return s.pods.Delete(ctx, owner, pods[plan.Delete[i]]) })
		reason = shared.FailedDelete
	}
	if err == nil {
		reason = ""
	} else {
		message = cmp.Or(errors.Unwrap(err), err).Error() // what the API server said, as Kubernetes puts it there
	}
	plan.Status.Conditions = plan.Status.Conditions.Failed(now, reason, message)
	if e := s.report(ctx, owner.Object, rs, &plan.Status); e != nil && err == nil {
		err = e
	}
	return plan.Wake, err
}

func compile(pods []*corev1.Pod) (seen []workload.Pod, deaths []workload.Death) {
	for _, p := range pods {
		seen = append(seen, intake.WorkloadPod(p))
		if d, ok := workload.DeathOf(&seen[len(seen)-1]); ok && p.Status.Phase == corev1.PodFailed {
			deaths = append(deaths, d)
		}
	}
	return seen, deaths
}

// crowd counts by node the pods of the ReplicaSet and of those with the same owner (of one
// Deployment), if there are any to delete.
func (s *shell) crowd(rs *appsv1.ReplicaSet, replicas int32, pods []*corev1.Pod, seen []workload.Pod) map[string]int {
	if int(replicas) >= len(pods) {
		return nil
	}
	crowd := workload.Crowd(seen)
	ref := metav1.GetControllerOfNoCopy(rs)
	if ref == nil {
		return crowd
	}
	siblings := shared.Controlled[*appsv1.ReplicaSet](s.informer, &metav1.ObjectMeta{UID: ref.UID, Namespace: rs.Namespace}, false)
	for _, sibling := range siblings {
		if sibling.UID != rs.UID {
			others, _ := compile(s.pods.Of(sibling))
			for node, n := range workload.Crowd(others) {
				crowd[node] += n
			}
		}
	}
	return crowd
}

// say tells, once for each pause, that pods wait.
func (s *shell) say(about shared.Object, until time.Time, why string) {
	s.mu.Lock()
	again := s.held[about.GetUID()].Equal(until)
	s.held[about.GetUID()] = until
	for uid, t := range s.held {
		if time.Since(t) > time.Hour {
			delete(s.held, uid)
		}
	}
	s.mu.Unlock()
	if !again {
		s.events.Event(about, corev1.EventTypeWarning, shared.HeldBack, why)
	}
}

// report writes the status if it changed.
func (s *shell) report(ctx context.Context, about shared.Object, rs *appsv1.ReplicaSet, n *workload.ReplicaSetStatus) error {
	status := appsv1.ReplicaSetStatus{
		Replicas: n.Replicas, FullyLabeledReplicas: n.FullyLabeled, ReadyReplicas: n.Ready, AvailableReplicas: n.Available, ObservedGeneration: n.Observed,
	}
	if s.kind == Kind {
		status.TerminatingReplicas = &n.Terminating
	}
	for _, c := range n.Conditions {
		status.Conditions = append(status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetConditionType(c.Type), Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message, LastTransitionTime: metav1.NewTime(c.Changed),
		})
	}
	if equality.Semantic.DeepEqual(rs.Status, status) {
		return nil
	}
	err := s.write(ctx, about, status)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
