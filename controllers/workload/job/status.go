package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/workload"
)

// statusOf converts a status to its API form. Unchanged times keep their pointers.
func statusOf(old *batchv1.JobStatus, s *workload.JobStatus) batchv1.JobStatus {
	out := batchv1.JobStatus{
		StartTime: timeOrNil(old.StartTime, s.Start), CompletionTime: timeOrNil(old.CompletionTime, s.Completion),
		Active: s.Active, Ready: &s.Ready, Terminating: &s.Terminating, Succeeded: s.Succeeded, Failed: s.Failed,
		CompletedIndexes:        s.Completed.String(),
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Succeeded: uids(s.UncountedSucceeded), Failed: uids(s.UncountedFailed)},
	}
	if len(s.FailedIndexes) > 0 || old.FailedIndexes != nil {
		text := s.FailedIndexes.String()
		out.FailedIndexes = &text
	}
	for i := range s.Conditions {
		c := &s.Conditions[i]
		out.Conditions = append(out.Conditions, batchv1.JobCondition{
			Type: batchv1.JobConditionType(c.Type), Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
			LastProbeTime: metav1.NewTime(c.Updated), LastTransitionTime: metav1.NewTime(c.Changed),
		})
	}
	return out
}

func timeOrNil(old *metav1.Time, t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	if old != nil && old.Time.Equal(t) {
		return old
	}
	return &metav1.Time{Time: t}
}

func uids(list []string) (out []types.UID) {
	for _, uid := range list {
		out = append(out, types.UID(uid))
	}
	return out
}
