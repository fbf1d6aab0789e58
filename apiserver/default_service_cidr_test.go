package apiserver

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestDefaultServiceCIDRIsRecreated checks that the server creates the object, reports it as ready, and recreates
// it after its deletion.
func TestDefaultServiceCIDRIsRecreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		objects := client.NetworkingV1().ServiceCIDRs()
		go runDefaultServiceCIDR(t.Context(), client, "10.96.0.0/16")
		for range 2 {
			time.Sleep(kubernetesServiceInterval)
			synctest.Wait()
			got, err := objects.Get(t.Context(), "kubernetes", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Spec.CIDRs) != 1 || got.Spec.CIDRs[0] != "10.96.0.0/16" || !meta.IsStatusConditionTrue(got.Status.Conditions, "Ready") {
				t.Errorf("got ServiceCIDR %+v, want 10.96.0.0/16, Ready", got)
			}
			if err := objects.Delete(t.Context(), "kubernetes", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
