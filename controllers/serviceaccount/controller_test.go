package serviceaccount

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
)

func startController(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, client, informers.NewSharedInformerFactory(client, 0), []byte("PEM"), runner.Production(), klog.Background())
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func eventually(t *testing.T, condition string, ok func(ctx context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 10*time.Second, true,
		func(ctx context.Context) (bool, error) { return ok(ctx), nil })
	if err != nil {
		t.Fatalf("timed out: %s", condition)
	}
}

func newNamespace(name string, phase corev1.NamespacePhase) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NamespaceStatus{Phase: phase}}
}

func hasAccount(client kubernetes.Interface, ns string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		_, err := client.CoreV1().ServiceAccounts(ns).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	}
}

func hasRootCA(client kubernetes.Interface, ns string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		m, err := client.CoreV1().ConfigMaps(ns).Get(ctx, ConfigMapName, metav1.GetOptions{})
		return err == nil && len(m.Data) == 1 && m.Data[ConfigMapKey] == "PEM"
	}
}

func TestActiveNamespacesGetDefaults(t *testing.T) {
	client := fake.NewClientset(newNamespace("existing", corev1.NamespaceActive), newNamespace("terminating", corev1.NamespaceTerminating))
	startController(t, client)
	eventually(t, "account in an existing namespace", hasAccount(client, "existing"))
	eventually(t, "root CA in an existing namespace", hasRootCA(client, "existing"))
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), newNamespace("new", corev1.NamespaceActive), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "account in a new namespace", hasAccount(client, "new"))
	eventually(t, "root CA in a new namespace", hasRootCA(client, "new"))
	if hasAccount(client, "terminating")(t.Context()) || hasRootCA(client, "terminating")(t.Context()) {
		t.Error("a terminating namespace was reconciled, want it ignored")
	}
}

func TestDeletedDefaultsAreRecreated(t *testing.T) {
	client := fake.NewClientset(newNamespace("a", corev1.NamespaceActive))
	startController(t, client)
	eventually(t, "root CA", hasRootCA(client, "a"))
	if err := client.CoreV1().ServiceAccounts("a").Delete(t.Context(), "default", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "account after deletion", hasAccount(client, "a"))
	m, err := client.CoreV1().ConfigMaps("a").Get(t.Context(), ConfigMapName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.Data = map[string]string{ConfigMapKey: "forged", "more": "x"}
	if _, err := client.CoreV1().ConfigMaps("a").Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "root CA after a change", hasRootCA(client, "a"))
}
