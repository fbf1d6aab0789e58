package conversion

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestResolveFenceposts(t *testing.T) {
	for name, tc := range map[string]struct {
		surge, unavailable string // "" omits it
		replicas           int32
		wantSurge, want    int32
	}{
		"25 % by default, rounded up and down": {"", "", 10, 3, 2},
		"integers":                             {"2", "3", 10, 2, 3},
		"percentages":                          {"10%", "10%", 25, 3, 2},
		"both resolve to 0: one may be unavailable": {"0", "10%", 5, 0, 1},
		"no more than replicas":                     {"0", "7", 3, 0, 3},
		"none":                                      {"", "", 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := &appsv1.RollingUpdateDeployment{}
			if tc.surge != "" {
				r.MaxSurge = new(intstr.Parse(tc.surge))
			}
			if tc.unavailable != "" {
				r.MaxUnavailable = new(intstr.Parse(tc.unavailable))
			}
			if surge, n := resolveFenceposts(r, tc.replicas); surge != tc.wantSurge || n != tc.want {
				t.Errorf("got surge %d and unavailable %d, want %d and %d", surge, n, tc.wantSurge, tc.want)
			}
		})
	}
}

func TestFinishTime(t *testing.T) {
	at := func(s int) metav1.Time { return metav1.NewTime(time.Unix(int64(s), 0)) }
	meta := metav1.ObjectMeta{CreationTimestamp: at(10), Annotations: map[string]string{corev1.PodDeletionCost: "-3"}}
	for name, tc := range map[string]struct {
		status corev1.PodStatus
		want   int
	}{
		"running":                       {corev1.PodStatus{Phase: corev1.PodRunning}, 0},
		"rejected without a start time": {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu"}, 10},
		"rejected with a start time":    {corev1.PodStatus{Phase: corev1.PodFailed, StartTime: new(at(12))}, 12},
		"its last container finished": {corev1.PodStatus{Phase: corev1.PodFailed, StartTime: new(at(12)), ContainerStatuses: []corev1.ContainerStatus{
			{RestartCount: 2, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: at(20)}}},
			{RestartCount: 4, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: at(30)}}}}}, 30},
		"evicted": {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, LastTransitionTime: at(11)}, {Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet", LastTransitionTime: at(40)}}}, 40},
	} {
		t.Run(name, func(t *testing.T) {
			p := WorkloadPod(&corev1.Pod{ObjectMeta: meta, Status: tc.status})
			if tc.want == 0 && !p.Ended.IsZero() || tc.want > 0 && p.Ended.Unix() != int64(tc.want) || p.Cost != -3 {
				t.Errorf("got end %v and cost %d, want %d s and -3", p.Ended, p.Cost, tc.want)
			}
		})
	}
}

func TestDeploymentWithoutDeadline(t *testing.T) {
	d := &appsv1.Deployment{}
	d.Spec.ProgressDeadlineSeconds = new(int32(noDeadline))
	if got := Deployment(d); got.ProgressDeadline != 0 || got.Replicas != 1 || got.RevisionHistoryLimit != 10 {
		t.Errorf("got %+v, want no deadline, 1 replica and 10 revisions", got)
	}
}

func TestDeploymentReplicaSet(t *testing.T) {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Generation: 2, Annotations: map[string]string{RevisionAnnotation: "7", MaxReplicasAnnotation: "x"}}}
	rs.Status.ObservedGeneration = 1
	if s := DeploymentReplicaSet(rs, true); s.Revision != 7 || s.Max != -1 || s.Desired != -1 || s.Observed || !s.Current {
		t.Errorf("got %+v, want the current set with revision 7, max -1, desired -1 and not observed", s)
	}
}

// TestDeploymentAnnotations checks that a revision has 64 bits and numbers of replicas have 32.
func TestDeploymentAnnotations(t *testing.T) {
	const large = "3546343826724305832"
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{RevisionAnnotation: large, MaxReplicasAnnotation: large, DesiredReplicasAnnotation: "5"}}}
	if s := DeploymentReplicaSet(rs, false); s.Revision != 3546343826724305832 || s.Max != -1 || s.Desired != 5 {
		t.Errorf("got %+v, want revision %s, max -1 and desired 5", s, large)
	}
}

func TestExpectedReplacement(t *testing.T) {
	type replacement struct {
		name       string
		generation int64
	}
	for value, want := range map[string]replacement{"": {}, ExpectedReplacement("web-b", 7): {"web-b", 7}, "web-b": {"web-b", 0}, "web-b@": {"web-b", 0}, "web-b@x": {"web-b", 0}} {
		for _, annotation := range []string{ExpectedReplacementAnnotation, formerReplacementAnnotation} {
			p := WorkloadPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotation: value}}})
			if got := (replacement{p.ExpectedReplacement, p.ReplacementGeneration}); got != want {
				t.Errorf("%s=%q: got %v, want %v", annotation, value, got, want)
			}
		}
	}
}
