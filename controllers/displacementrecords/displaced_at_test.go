package displacementrecords

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDisplacedAt checks the time of a displacement that only the status of the pod shows. A rejected pod has no conditions
// of containers, and may have been pending for long.
func TestDisplacedAt(t *testing.T) {
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(d time.Duration) metav1.Time { return metav1.NewTime(created.Add(d)) }
	start := at(time.Minute)
	rejected := corev1.PodStatus{Phase: corev1.PodFailed, StartTime: &start}
	evicted := corev1.PodStatus{Phase: corev1.PodFailed, StartTime: &start,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: at(time.Hour)}}}
	pending := corev1.PodStatus{Phase: corev1.PodPending}
	for name, tc := range map[string]struct {
		status corev1.PodStatus
		want   time.Duration
	}{"rejected": {rejected, time.Minute}, "evicted": {evicted, time.Hour}, "pending": {pending, 0}} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}, Status: tc.status}
		if got := displacedAt(p).Sub(created); got != tc.want {
			t.Errorf("%s: displaced %s after its creation, want %s", name, got, tc.want)
		}
	}
}
