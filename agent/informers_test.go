package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/agent"
)

// TestReplacedPodIsTerminated checks a pod that is deleted and recreated while the watch is down: the
// informer reports one update.
func TestReplacedPodIsTerminated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		a, stop := startAgent(t, api, func(*agent.Options) {})
		defer stop()
		pods := api.CoreV1().Pods("default")
		first, second := boundPod("web", "n0", nil), boundPod("web", "n0", nil)
		first.UID, second.UID = "first", "second"
		first.Spec.RestartPolicy, second.Spec.RestartPolicy = corev1.RestartPolicyAlways, corev1.RestartPolicyAlways
		if _, err := pods.Create(t.Context(), first, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if _, err := pods.Update(t.Context(), second, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if got := a.Pods("n0"); len(got) != 1 || got[0].UID != "second" {
			t.Errorf("the node has %d pods, want only the second", len(got))
		}
	})
}
