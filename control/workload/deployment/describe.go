package deployment

import (
	"context"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/internal/intake"
)

// longestHistory bounds, in bytes, the annotation that keeps a ReplicaSet's former revisions.
const longestHistory = 2000

// notCopied are annotations of a Deployment that do not speak of its ReplicaSets.
var notCopied = map[string]bool{
	corev1.LastAppliedConfigAnnotation: true,
	intake.RevisionAnnotation:          true, intake.RevisionHistoryAnnotation: true,
	intake.DesiredReplicasAnnotation: true, intake.MaxReplicasAnnotation: true,
	appsv1.DeprecatedRollbackTo: true,
}

// describe gives the current ReplicaSet the Deployment's annotations (such as the cause of the change,
// which kubectl rollout history shows), revision and minReadySeconds.
func (s *step) describe(rs *appsv1.ReplicaSet) {
	for k, v := range s.d.Annotations {
		if !notCopied[k] {
			rs.Annotations[k] = v
		}
	}
	revision := strconv.FormatInt(s.plan.Revision, 10)
	if was := rs.Annotations[intake.RevisionAnnotation]; was != "" && was != revision {
		rs.Annotations[intake.RevisionHistoryAnnotation] = former(rs.Annotations[intake.RevisionHistoryAnnotation], was)
	}
	rs.Annotations[intake.RevisionAnnotation] = revision
	rs.Spec.MinReadySeconds = s.d.Spec.MinReadySeconds
}

// former adds a revision to a list of them, the oldest of which go when it gets too long.
func former(list, revision string) string {
	if list == "" {
		return revision
	}
	list += "," + revision
	for len(list) > longestHistory {
		_, list, _ = strings.Cut(list, ",")
	}
	return list
}

// outdated says that the current ReplicaSet lacks something that describe gives it.
func (s *step) outdated(rs *appsv1.ReplicaSet) bool {
	want := rs.DeepCopy()
	if want.Annotations == nil {
		want.Annotations = map[string]string{}
	}
	s.describe(want)
	return !equality.Semantic.DeepEqual(rs.Annotations, want.Annotations) || rs.Spec.MinReadySeconds != want.Spec.MinReadySeconds
}

// proportion notes on a ReplicaSet the size of the Deployment for which it was scaled.
func (s *step) proportion(rs *appsv1.ReplicaSet) {
	machine := intake.Deployment(s.d)
	rs.Annotations[intake.DesiredReplicasAnnotation] = strconv.Itoa(int(machine.Replicas))
	rs.Annotations[intake.MaxReplicasAnnotation] = strconv.Itoa(int(machine.Replicas + machine.Surge))
}

// write writes the status and the revision, if they changed.
func (s *step) write(ctx context.Context) error {
	n := &s.plan.Status
	d := s.d.DeepCopy()
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: n.Observed, Replicas: n.Replicas, UpdatedReplicas: n.Updated, ReadyReplicas: n.Ready, AvailableReplicas: n.Available,
		UnavailableReplicas: n.Unavailable, TerminatingReplicas: &n.Terminating, CollisionCount: s.d.Status.CollisionCount,
	}
	for _, c := range n.Conditions {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
			Type: appsv1.DeploymentConditionType(c.Type), Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
			LastUpdateTime: metav1.NewTime(c.Updated), LastTransitionTime: metav1.NewTime(c.Changed),
		})
	}
	revised := s.d.DeletionTimestamp == nil && (s.plan.Current >= 0 || s.plan.Create)
	if revision := strconv.FormatInt(s.plan.Revision, 10); revised && d.Annotations[intake.RevisionAnnotation] != revision {
		if d.Annotations == nil {
			d.Annotations = map[string]string{}
		}
		d.Annotations[intake.RevisionAnnotation] = revision
	} else if equality.Semantic.DeepEqual(d.Status, s.d.Status) {
		return nil
	}
	_, err := s.client.AppsV1().Deployments(d.Namespace).UpdateStatus(ctx, d, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
