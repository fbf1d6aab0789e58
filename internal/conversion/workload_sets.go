package conversion

import (
	"cmp"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berthproject/berth/engine/workload"
)

// DaemonSet converts a DaemonSet with a desired pod on the given number of nodes. hash is that of its template.
// Percentages are relative to the number of nodes, rounded up.
func DaemonSet(ds *appsv1.DaemonSet, hash string, desired int) workload.DaemonSet {
	out := workload.DaemonSet{
		Hash: hash, MinReady: time.Duration(ds.Spec.MinReadySeconds) * time.Second, Generation: ds.Generation, Deleting: ds.DeletionTimestamp != nil,
		OnDelete: ds.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType,
	}
	if r := ds.Spec.UpdateStrategy.RollingUpdate; r != nil {
		out.MaxUnavailable, out.MaxSurge = scaledValue(r.MaxUnavailable, desired), scaledValue(r.MaxSurge, desired)
	}
	if out.MaxSurge == 0 {
		out.MaxUnavailable = max(1, out.MaxUnavailable) // otherwise the rollout would never end
	}
	return out
}

// scaledValue returns a number, or a percentage of total, rounded up. It returns 0 for nil and malformed values.
func scaledValue(v *intstr.IntOrString, total int) int32 {
	if v == nil {
		return 0
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(v, total, true)
	if err != nil {
		return 0 // validated by the API server
	}
	return int32(n)
}

// StatefulSet converts a StatefulSet, with the names of its current and update revision.
func StatefulSet(s *appsv1.StatefulSet, current, update string) workload.StatefulSet {
	out := workload.StatefulSet{
		Replicas: replicasOrDefault(s.Spec.Replicas), Ordered: s.Spec.PodManagementPolicy != appsv1.ParallelPodManagement,
		OnDelete: s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType, MaxUnavailable: 1,
		MinReady: time.Duration(s.Spec.MinReadySeconds) * time.Second, Generation: s.Generation, Deleting: s.DeletionTimestamp != nil,
		Current: current, Update: update,
	}
	if s.Spec.Ordinals != nil {
		out.Start = s.Spec.Ordinals.Start
	}
	if r := s.Spec.UpdateStrategy.RollingUpdate; r != nil {
		out.Partition = deref(r.Partition)
		if r.MaxUnavailable != nil {
			out.MaxUnavailable = max(1, scaledValue(r.MaxUnavailable, int(out.Replicas)))
		}
	}
	return out
}

// RevisionOf returns the revision label of a DaemonSet's or StatefulSet's pod.
func RevisionOf(p *corev1.Pod) string { return p.Labels[appsv1.ControllerRevisionHashLabelKey] }

func workloadCondition(kind, status, reason, message string, updated, changed time.Time) workload.Condition {
	return workload.Condition{Type: kind, Status: workload.Status(cmp.Or(status, string(workload.Unknown))), Reason: reason, Message: message, Updated: updated, Changed: changed}
}
