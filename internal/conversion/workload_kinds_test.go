package conversion

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berthproject/berth/engine/workload"
)

func TestDaemonSetPercentagesRoundUp(t *testing.T) {
	percent, zero := intstr.FromString("10%"), intstr.FromInt32(0)
	ds := &appsv1.DaemonSet{}
	ds.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &percent, MaxSurge: &zero}
	for desired, want := range map[int]int32{0: 1, 3: 1, 11: 2, 100: 10} {
		if got := DaemonSet(ds, "h", desired); got.MaxUnavailable != want || got.MaxSurge != 0 {
			t.Errorf("%d desired: got maxUnavailable %d and maxSurge %d, want %d and 0", desired, got.MaxUnavailable, got.MaxSurge, want)
		}
	}
	ds.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &zero, MaxSurge: &percent}
	if got := DaemonSet(ds, "h", 11); got.MaxUnavailable != 0 || got.MaxSurge != 2 {
		t.Errorf("got maxUnavailable %d and maxSurge %d, want 0 and 2", got.MaxUnavailable, got.MaxSurge)
	}
}

func TestStatefulSetDefaults(t *testing.T) {
	got := StatefulSet(&appsv1.StatefulSet{}, "a", "b")
	if want := (workload.StatefulSet{Replicas: 1, Ordered: true, MaxUnavailable: 1, Current: "a", Update: "b"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestJobAndPod(t *testing.T) {
	text, name, seconds, mode := "0-2,5", "c", int64(1<<62), batchv1.IndexedCompletion
	completions := int32(5)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}, Spec: batchv1.JobSpec{
		Completions: &completions, CompletionMode: &mode, ActiveDeadlineSeconds: &seconds,
		PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
			{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{ContainerName: &name, Operator: "NotIn", Values: []int32{3}}},
			{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}},
		}},
		SuccessPolicy: &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: &text}}},
	}}
	job.Status.CompletedIndexes = text
	got, err := Job(job)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Indexed || !got.ReplaceOnlyFailed || got.Parallelism != 1 || got.BackoffLimit != 6 || got.Deadline < 200*365*24*time.Hour || got.Status.Completed.String() != "0-2" ||
		got.Success[0].Indexes.Len() != 3 || got.Policy[0].Action != workload.FailJob || !got.Policy[0].NotIn || got.Policy[1].Action != workload.IgnoreFailure || len(got.Policy[1].Conditions) != 1 {
		t.Errorf("got %+v, want the fields of %+v", got, job.Spec)
	}
	job.Status.CompletedIndexes = "2-1"
	if _, err := Job(job); err == nil {
		t.Error("got no error for a malformed status")
	}
	pod := JobPod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Finalizers: []string{batchv1.JobTrackingFinalizer}, Annotations: map[string]string{
			batchv1.JobCompletionIndexAnnotation: "4", batchv1.JobIndexFailureCountAnnotation: "2", batchv1.JobIndexIgnoredFailureCountAnnotation: "x"}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: 3, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 7}}}}},
	})
	if !pod.Tracked || pod.Index != 4 || pod.Failures != 2 || pod.Ignored != 0 || pod.RestartSum != 3 || len(pod.Exits) != 1 || pod.Exits[0] != (workload.Exit{Container: "c", Code: 7}) {
		t.Errorf("got %+v, want index 4, 2 failures, 3 restarts and exit code 7", pod)
	}
}
