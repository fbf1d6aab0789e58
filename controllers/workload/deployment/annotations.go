package deployment

import (
	"context"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/internal/apierror"
	"github.com/berthproject/berth/internal/conversion"
)

// maxRevisionHistoryLen is the maximum length, in bytes, of the revision history annotation of a ReplicaSet.
const maxRevisionHistoryLen = 2000

// annotationsToSkip are annotations of a Deployment that are not copied to its ReplicaSets.
var annotationsToSkip = map[string]bool{
	corev1.LastAppliedConfigAnnotation: true,
	conversion.RevisionAnnotation:      true, conversion.RevisionHistoryAnnotation: true,
	conversion.DesiredReplicasAnnotation: true, conversion.MaxReplicasAnnotation: true,
	appsv1.DeprecatedRollbackTo: true,
}

// setAnnotations copies the Deployment's annotations (such as the change cause, which kubectl rollout history
// shows), revision and minReadySeconds to the current ReplicaSet.
func (r *rollout) setAnnotations(rs *appsv1.ReplicaSet) {
	for k, v := range r.d.Annotations {
		if !annotationsToSkip[k] {
			rs.Annotations[k] = v
		}
	}
	revision := strconv.FormatInt(r.plan.Revision, 10)
	if previous := rs.Annotations[conversion.RevisionAnnotation]; previous != "" && previous != revision {
		rs.Annotations[conversion.RevisionHistoryAnnotation] = appendRevision(rs.Annotations[conversion.RevisionHistoryAnnotation], previous)
	}
	rs.Annotations[conversion.RevisionAnnotation] = revision
	rs.Spec.MinReadySeconds = r.d.Spec.MinReadySeconds
}

// appendRevision appends a revision to a list and removes the oldest ones if the list is too long.
func appendRevision(list, revision string) string {
	if list == "" {
		return revision
	}
	list += "," + revision
	for len(list) > maxRevisionHistoryLen {
		_, list, _ = strings.Cut(list, ",")
	}
	return list
}

// needsAnnotations reports whether setAnnotations would change the current ReplicaSet.
func (r *rollout) needsAnnotations(rs *appsv1.ReplicaSet) bool {
	want := rs.DeepCopy()
	if want.Annotations == nil {
		want.Annotations = map[string]string{}
	}
	r.setAnnotations(want)
	return !equality.Semantic.DeepEqual(rs.Annotations, want.Annotations) || rs.Spec.MinReadySeconds != want.Spec.MinReadySeconds
}

// setReplicasAnnotations records on a ReplicaSet the size of the Deployment for which it was scaled.
func (r *rollout) setReplicasAnnotations(rs *appsv1.ReplicaSet) {
	machine := conversion.Deployment(r.d)
	rs.Annotations[conversion.DesiredReplicasAnnotation] = strconv.Itoa(int(machine.Replicas))
	rs.Annotations[conversion.MaxReplicasAnnotation] = strconv.Itoa(int(machine.Replicas + machine.MaxSurge))
}

// updateStatus writes the status and the revision if they have changed.
func (r *rollout) updateStatus(ctx context.Context) error {
	n := &r.plan.Status
	d := r.d.DeepCopy()
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: n.Observed, Replicas: n.Replicas, UpdatedReplicas: n.Updated, ReadyReplicas: n.Ready, AvailableReplicas: n.Available,
		UnavailableReplicas: n.Unavailable, TerminatingReplicas: &n.Terminating, CollisionCount: r.d.Status.CollisionCount,
	}
	for _, c := range n.Conditions {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
			Type: appsv1.DeploymentConditionType(c.Type), Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
			LastUpdateTime: metav1.NewTime(c.Updated), LastTransitionTime: metav1.NewTime(c.Changed),
		})
	}
	hasRevision := r.d.DeletionTimestamp == nil && (r.plan.Current >= 0 || r.plan.Create)
	if revision := strconv.FormatInt(r.plan.Revision, 10); hasRevision && d.Annotations[conversion.RevisionAnnotation] != revision {
		if d.Annotations == nil {
			d.Annotations = map[string]string{}
		}
		d.Annotations[conversion.RevisionAnnotation] = revision
	} else if equality.Semantic.DeepEqual(d.Status, r.d.Status) {
		return nil
	}
	_, err := r.client.AppsV1().Deployments(d.Namespace).UpdateStatus(ctx, d, metav1.UpdateOptions{})
	return apierror.IgnoreNotFound(err)
}
