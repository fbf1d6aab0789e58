package agent_test

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestEphemeralContainer checks the status of an ephemeral container before and after the agent restarts.
func TestEphemeralContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newResizeCluster(t, pod("a"))
		p := get(t, c.api, "a")
		p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "tools:1"}}}
		if _, err := c.api.CoreV1().Pods("default").Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		waitBriefly()
		check := func() {
			t.Helper()
			s := get(t, c.api, "a").Status
			if len(s.EphemeralContainerStatuses) != 1 {
				t.Fatalf("statuses %+v, want one", s.EphemeralContainerStatuses)
			}
			e := s.EphemeralContainerStatuses[0]
			if e.Name != "debug" || e.Image != "tools:1" || e.State.Running == nil || e.Ready || e.Started != nil || len(s.ContainerStatuses) != 1 {
				t.Errorf("status %+v, want debug running without readiness", e)
			}
		}
		check()
		c.stop()
		c.start()
		defer func() { c.stop() }()
		check()
	})
}
