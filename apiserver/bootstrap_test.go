package apiserver

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestKubernetesServiceWithSeveralServers checks that the server that starts last sets the target port. Every
// server recreates a deleted Service.
func TestKubernetesServiceWithSeveralServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		services := client.CoreV1().Services(metav1.NamespaceDefault)
		for _, port := range []int{6443, 7443} {
			if err := createSystemObjects(t.Context(), client, "10.96.0.1", port); err != nil {
				t.Fatal(err)
			}
			go runKubernetesServiceController(t.Context(), client, "10.96.0.1", port)
		}
		time.Sleep(10 * kubernetesServiceInterval)
		writes := 0
		for _, a := range client.Actions() {
			if a.Matches("update", "services") || a.Matches("create", "services") {
				writes++
			}
		}
		s, err := services.Get(t.Context(), "kubernetes", metav1.GetOptions{})
		if err != nil || s.Spec.Ports[0].TargetPort.IntValue() != 7443 || writes != 2 {
			t.Errorf("got ports of the Service %+v after %d writes and error %v, want 7443 after 2 and no error", s.Spec.Ports, writes, err)
		}
		if err := services.Delete(t.Context(), "kubernetes", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * kubernetesServiceInterval)
		if _, err := services.Get(t.Context(), "kubernetes", metav1.GetOptions{}); err != nil {
			t.Errorf("Service after its deletion: %v, want a new one", err)
		}
	})
}

// TestKubernetesServiceControllerWaitsForInterval checks that the controller does not write before its first
// interval, because the namespace may not exist yet.
func TestKubernetesServiceControllerWaitsForInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		go runKubernetesServiceController(t.Context(), client, "10.96.0.1", 6443)
		synctest.Wait()
		if actions := client.Actions(); len(actions) > 0 {
			t.Errorf("requests before the first interval: %v, want none", actions)
		}
	})
}
