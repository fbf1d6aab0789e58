package reports

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPodProblems(t *testing.T) {
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	killed := &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
	for name, tc := range map[string]struct {
		status corev1.PodStatus
		want   []string
	}{
		"starting":          {status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: waiting("ContainerCreating", "")}}}},
		"missing volume":    {status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: waiting("ContainerCreating", `configmap "x" not found`)}}}, want: []string{`container c is waiting: ContainerCreating: configmap "x" not found`}},
		"refused container": {status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: waiting("RefusedByRuntime", "privileged: no")}}}, want: []string{"container c is waiting: RefusedByRuntime: privileged: no"}},
		"crash loop": {
			status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: waiting("CrashLoopBackOff", ""), LastTerminationState: corev1.ContainerState{Terminated: killed}}}},
			want:   []string{"container c is waiting: CrashLoopBackOff; it exited with code 137: OOMKilled"},
		},
		"evicted pod": {status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."}, want: []string{"the pod failed: Evicted: The node was low on resource: memory."}},
		"failed init container": {
			status: corev1.PodStatus{Phase: corev1.PodRunning, InitContainerStatuses: []corev1.ContainerStatus{{Name: "i", State: corev1.ContainerState{Terminated: killed}}}},
			want:   []string{"container i is not running; it exited with code 137: OOMKilled"},
		},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n1"}, Status: tc.status}
		if got := podProblems(pod); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
		pod.Spec.NodeName = ""
		if got := podProblems(pod); got != nil {
			t.Errorf("%s, not bound: got %q, want none", name, got)
		}
	}
}
