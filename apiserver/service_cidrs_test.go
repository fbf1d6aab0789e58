package apiserver

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestServiceCIDRIsProtected checks that a ServiceCIDR is ready and protected. Its deletion waits until no
// IPAddress needs it; another ServiceCIDR may take over its IPAddresses.
func TestServiceCIDRIsProtected(t *testing.T) {
	for name, release := range map[string]func(*testing.T, *fake.Clientset){
		"address deleted": func(t *testing.T, client *fake.Clientset) {
			if err := client.NetworkingV1().IPAddresses().Delete(t.Context(), "10.9.0.7", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		},
		"range replaced": func(t *testing.T, client *fake.Clientset) { createServiceCIDR(t, client, "larger", "10.8.0.0/15") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { checkProtection(t, release) })
		})
	}
}

func createServiceCIDR(t *testing.T, client *fake.Clientset, name, cidr string) {
	t.Helper()
	object := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{cidr}}}
	if _, err := client.NetworkingV1().ServiceCIDRs().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func checkProtection(t *testing.T, release func(*testing.T, *fake.Clientset)) {
	client := fake.NewClientset(&networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: "10.9.0.7"}})
	objects := client.NetworkingV1().ServiceCIDRs()
	createServiceCIDR(t, client, "further", "10.9.0.0/24")
	go newServiceCIDRController(client, "10.96.0.0/16").run(t.Context())
	get := func() *networkingv1.ServiceCIDR {
		time.Sleep(time.Second) // the informer polls until it is synced
		synctest.Wait()
		object, err := objects.Get(t.Context(), "further", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	isProtected := func(object *networkingv1.ServiceCIDR) bool {
		return slices.Contains(object.Finalizers, "networking.k8s.io/service-cidr-finalizer")
	}
	object := get()
	if !isProtected(object) || !meta.IsStatusConditionTrue(object.Status.Conditions, "Ready") {
		t.Fatalf("new ServiceCIDR: got finalizers %v and conditions %v, want protected and ready", object.Finalizers, object.Status.Conditions)
	}
	object.DeletionTimestamp = &metav1.Time{Time: time.Now()} // the fake client deletes objects with finalizers
	if _, err := objects.Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
	object = get()
	if ready := meta.FindStatusCondition(object.Status.Conditions, "Ready"); !isProtected(object) || ready.Status != metav1.ConditionFalse || ready.Reason != "Terminating" {
		t.Fatalf("deleted with an IPAddress: got finalizers %v and conditions %v, want protected and terminating", object.Finalizers, object.Status.Conditions)
	}
	release(t, client)
	time.Sleep(time.Minute)
	if object = get(); isProtected(object) {
		t.Errorf("deleted without an IPAddress: got finalizers %v, want none", object.Finalizers)
	}
}
