package conversion

import (
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berthproject/berth/engine/workload"
)

// Annotations of Deployments and ReplicaSets: revisions, and the size for which a ReplicaSet was scaled.
const (
	RevisionAnnotation        = "deployment.kubernetes.io/revision"
	RevisionHistoryAnnotation = "deployment.kubernetes.io/revision-history"
	DesiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas"
	MaxReplicasAnnotation     = "deployment.kubernetes.io/max-replicas"
)

// Deployment converts a Deployment for engine/workload.
func Deployment(d *appsv1.Deployment) workload.Deployment {
	out := workload.Deployment{
		Replicas: replicasOrDefault(d.Spec.Replicas), Recreate: d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType,
		RevisionHistoryLimit: 10, Paused: d.Spec.Paused, Deleting: d.DeletionTimestamp != nil, Generation: d.Generation,
		Status: workload.DeploymentStatus{
			Replicas: d.Status.Replicas, Updated: d.Status.UpdatedReplicas, Ready: d.Status.ReadyReplicas, Available: d.Status.AvailableReplicas,
			Unavailable: d.Status.UnavailableReplicas, Terminating: deref(d.Status.TerminatingReplicas), Observed: d.Status.ObservedGeneration,
		},
	}
	if n := d.Spec.RevisionHistoryLimit; n != nil {
		out.RevisionHistoryLimit = *n
	}
	if n := d.Spec.ProgressDeadlineSeconds; n != nil && *n != noDeadline {
		out.ProgressDeadline = time.Duration(*n) * time.Second
	}
	if !out.Recreate {
		out.MaxSurge, out.MaxUnavailable = resolveFenceposts(d.Spec.Strategy.RollingUpdate, out.Replicas)
	}
	for i := range d.Status.Conditions {
		c := &d.Status.Conditions[i]
		out.Status.Conditions = append(out.Status.Conditions, workload.Condition{
			Type: string(c.Type), Status: workload.Status(c.Status), Reason: c.Reason, Message: c.Message,
			Updated: c.LastUpdateTime.Time, Changed: c.LastTransitionTime.Time,
		})
	}
	return out
}

// noDeadline is the largest int32, which means no deadline in old API versions.
const noDeadline = 1<<31 - 1

// resolveFenceposts returns maxSurge, rounded up, and maxUnavailable, rounded down. An invalid value counts as 0. If
// both are 0, which allows no progress, maxUnavailable is 1.
func resolveFenceposts(r *appsv1.RollingUpdateDeployment, replicas int32) (surge, unavailable int32) {
	quarter := intstr.FromString("25%")
	maxSurge, maxUnavailable := &quarter, &quarter
	if r != nil && r.MaxSurge != nil {
		maxSurge = r.MaxSurge
	}
	if r != nil && r.MaxUnavailable != nil {
		maxUnavailable = r.MaxUnavailable
	}
	up, _ := intstr.GetScaledValueFromIntOrPercent(maxSurge, int(replicas), true)
	down, _ := intstr.GetScaledValueFromIntOrPercent(maxUnavailable, int(replicas), false)
	if up == 0 && down == 0 {
		down = 1
	}
	return int32(up), min(int32(down), replicas)
}

// DeploymentReplicaSet converts a ReplicaSet of a Deployment. current reports whether
// its template is the Deployment's.
func DeploymentReplicaSet(rs *appsv1.ReplicaSet, current bool) workload.Set {
	out := workload.Set{
		Name: rs.Name, Created: rs.CreationTimestamp.Time, Revision: max(0, annotationNumber(rs.Annotations[RevisionAnnotation], 64)), Current: current,
		Deleting: rs.DeletionTimestamp != nil, Replicas: replicasOrDefault(rs.Spec.Replicas),
		Actual: rs.Status.Replicas, Ready: rs.Status.ReadyReplicas, Available: rs.Status.AvailableReplicas,
		Terminating: deref(rs.Status.TerminatingReplicas), Observed: rs.Status.ObservedGeneration >= rs.Generation,
		Desired: int32(annotationNumber(rs.Annotations[DesiredReplicasAnnotation], 32)), Max: int32(annotationNumber(rs.Annotations[MaxReplicasAnnotation], 32)),
	}
	for i := range rs.Status.Conditions {
		if c := &rs.Status.Conditions[i]; c.Type == appsv1.ReplicaSetReplicaFailure {
			out.Failure = &workload.Condition{Type: workload.ReplicaFailure, Status: workload.Status(c.Status), Reason: c.Reason, Message: c.Message}
		}
	}
	return out
}

// annotationNumber parses a non-negative number of at most the given bits. It returns -1 for other text.
func annotationNumber(s string, bits int) int64 {
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil || n < 0 {
		return -1
	}
	return n
}
