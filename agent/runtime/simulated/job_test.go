package simulated_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// TestJobsComplete checks that pods of Jobs and Helm hooks complete without annotations.
func TestJobsComplete(t *testing.T) {
	job := []metav1.OwnerReference{{Kind: "Job", Name: "j", Controller: new(true)}}
	set := []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "s", Controller: new(true)}}
	always := corev1.ContainerRestartPolicyAlways
	for name, tc := range map[string]struct {
		owners      []metav1.OwnerReference
		annotations map[string]string
		policy      corev1.RestartPolicy
		container   string
		want        bool // exits within 10 s
	}{
		"job":                   {job, nil, corev1.RestartPolicyNever, "c", true},
		"job with a run time":   {job, map[string]string{simulated.RunSeconds: "60"}, corev1.RestartPolicyNever, "c", false},
		"sidecar of a job":      {job, nil, corev1.RestartPolicyNever, "s", false},
		"hook":                  {nil, map[string]string{"helm.sh/hook": "test"}, corev1.RestartPolicyNever, "c", true},
		"server that is a hook": {nil, map[string]string{"helm.sh/hook": "pre-install"}, corev1.RestartPolicyAlways, "c", false},
		"other owner":           {set, nil, corev1.RestartPolicyAlways, "c", false},
		"bare pod":              {nil, nil, corev1.RestartPolicyNever, "c", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				exited := false
				r := simulated.New(func(r runtime.Report) {
					if e, ok := r.Event.(podlifecycle.Exited); ok {
						exited = e.Code == 0
					}
				})
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "p", OwnerReferences: tc.owners, Annotations: tc.annotations},
					Spec: corev1.PodSpec{RestartPolicy: tc.policy, InitContainers: []corev1.Container{{Name: "s", RestartPolicy: &always}}, Containers: []corev1.Container{{Name: "c"}}}}
				r.Start(pod, tc.container, 0)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if exited != tc.want {
					t.Errorf("completed: %v, want %v", exited, tc.want)
				}
				r.Forget(pod.UID)
			})
		})
	}
}
