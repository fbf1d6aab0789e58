package apiserver_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/apiserver"
)

// addressesOf returns the Service of each cluster IP according to the Services, and according to the
// IPAddresses.
func addressesOf(t *testing.T, client kubernetes.Interface) (services, objects map[string]string) {
	t.Helper()
	services, objects = map[string]string{}, map[string]string{}
	list, err := client.CoreV1().Services("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		for _, ip := range list.Items[i].Spec.ClusterIPs {
			services[ip] = list.Items[i].Namespace + "/" + list.Items[i].Name
		}
	}
	addresses, err := client.NetworkingV1().IPAddresses().List(t.Context(), metav1.ListOptions{LabelSelector: "ipaddress.kubernetes.io/managed-by=ipallocator.k8s.io"})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses.Items {
		objects[a.Name] = a.Spec.ParentRef.Namespace + "/" + a.Spec.ParentRef.Name
	}
	return services, objects
}

// TestEachClusterIPHasIPAddress checks that each cluster IP has an IPAddress while clients create and delete
// Services concurrently. A start recreates deleted IPAddresses.
func TestEachClusterIPHasIPAddress(t *testing.T) {
	dir := t.TempDir()
	inDir := func(o *apiserver.Options) { o.DataDir = dir }
	server := start(t, inDir)
	client := clientset(t, server.LoopbackConfig())
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 6 {
				svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%d-%d", worker, i)}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
				if _, err := client.CoreV1().Services("default").Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
				if i%2 == 0 {
					if err := client.CoreV1().Services("default").Delete(t.Context(), svc.Name, metav1.DeleteOptions{}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	var services, objects map[string]string
	agree := func(context.Context) (bool, error) {
		services, objects = addressesOf(t, client)
		return len(services) == 25 && maps.Equal(services, objects), nil // 8 workers with 3 each, and default/kubernetes
	}
	// The repair at the start may run at the same time.
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, agree); err != nil {
		t.Fatalf("got %d cluster IPs %v and IPAddresses %v, want 25 equal ones", len(services), services, objects)
	}
	if err := client.NetworkingV1().IPAddresses().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	server.stop()
	server = start(t, inDir)
	client = clientset(t, server.LoopbackConfig())
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, agree); err != nil {
		t.Errorf("after a restart: got cluster IPs %v and IPAddresses %v, want 25 equal ones", services, objects)
	}
}

// TestServiceCIDRAddsRange checks that a ServiceCIDR adds a range of cluster IPs once it is ready.
func TestServiceCIDRAddsRange(t *testing.T) {
	client := clientset(t, start(t).LoopbackConfig())
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.ServiceSpec{ClusterIP: "10.9.0.1", Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := client.CoreV1().Services("default").Create(t.Context(), svc, metav1.CreateOptions{}); err == nil {
		t.Error("created a Service with a cluster IP outside of all ranges")
	}
	cidr := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "further"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.9.0.0/24"}}}
	if _, err := client.NetworkingV1().ServiceCIDRs().Create(t.Context(), cidr, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		object, err := client.NetworkingV1().ServiceCIDRs().Get(ctx, "further", metav1.GetOptions{})
		return err == nil && meta.IsStatusConditionTrue(object.Status.Conditions, "Ready") && len(object.Finalizers) == 1, err
	})
	if err != nil {
		t.Fatalf("waiting until the ServiceCIDR is ready: %v", err)
	}
	if _, err := client.CoreV1().Services("default").Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}
