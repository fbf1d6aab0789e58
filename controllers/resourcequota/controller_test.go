package resourcequota

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
)

type harness struct {
	t   *testing.T
	api *fake.Clientset
}

// run runs the controller over objects in virtual time. counted are the objects of the metadata API.
func run(t *testing.T, test func(h *harness), objects []runtime.Object, counted ...runtime.Object) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := &harness{t: t, api: fake.NewSimpleClientset(objects...)}
		h.api.Discovery().(*fakediscovery.FakeDiscovery).Resources = []*metav1.APIResourceList{{GroupVersion: "apps/v1",
			APIResources: []metav1.APIResource{{Name: "deployments", Namespaced: true, Kind: "Deployment"}}}}
		scheme := metadatafake.NewTestScheme()
		if err := metav1.AddMetaToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		factory := informers.NewSharedInformerFactory(h.api, 0)
		done := make(chan error, 1)
		go func() {
			done <- Run(ctx, h.api, metadatafake.NewSimpleMetadataClient(scheme, counted...), factory, runner.Production(), klog.Background())
		}()
		test(h)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		factory.Shutdown()
	})
}

func (h *harness) quota() *corev1.ResourceQuota {
	h.t.Helper()
	q, err := h.api.CoreV1().ResourceQuotas("ns").Get(h.t.Context(), "q", metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return q
}

// checkUsed waits for d and checks the usage in the status.
func (h *harness) checkUsed(step string, d time.Duration, want corev1.ResourceList) {
	h.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	if got := h.quota().Status; !quotav1.Equals(got.Used, want) || !quotav1.Equals(got.Hard, h.quota().Spec.Hard) {
		h.t.Errorf("%s: hard %v, used %v, want %v", step, got.Hard, got.Used, want)
	}
}

// newResourceList returns a ResourceList of name-quantity pairs.
func newResourceList(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func newQuota(hard corev1.ResourceList) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: "ns", ResourceVersion: "1"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
}

func newPod(name string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}, Status: corev1.PodStatus{Phase: phase},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: newResourceList("cpu", "500m", "example.com/gpu", "2"), Limits: newResourceList("cpu", "1")}}}}}
}

func TestUsageOfEveryKind(t *testing.T) {
	class := "fast"
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns"},
		Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, Resources: corev1.VolumeResourceRequirements{Requests: newResourceList("storage", "5Gi")}}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "ns"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 1}, {Port: 2}}}}
	deployment := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "ns"}}
	hard := newResourceList("pods", "9", "count/pods", "9", "requests.cpu", "9", "limits.cpu", "9", "requests.example.com/gpu", "9", "services", "9", "services.nodeports", "9",
		"requests.storage", "9Gi", "fast.storageclass.storage.k8s.io/requests.storage", "9Gi", "slow.storageclass.storage.k8s.io/persistentvolumeclaims", "9",
		"count/deployments.apps", "9", "count/widgets.example.com", "9")
	run(t, func(h *harness) {
		h.checkUsed("quota without a status", time.Second, newResourceList("pods", "1", "count/pods", "2", "requests.cpu", "500m", "limits.cpu", "1", "requests.example.com/gpu", "2",
			"services", "1", "services.nodeports", "2", "requests.storage", "5Gi", "fast.storageclass.storage.k8s.io/requests.storage", "5Gi",
			"slow.storageclass.storage.k8s.io/persistentvolumeclaims", "0", "count/deployments.apps", "1", "count/widgets.example.com", "0"))
	}, []runtime.Object{newQuota(hard), newPod("a", corev1.PodRunning), newPod("b", corev1.PodSucceeded), claim, service}, deployment)
}

// TestUsageIsLoweredOnlyOnceSettled checks that the usage is not lowered within a second of a charge. The charge may be
// for a pod that the caches do not have yet.
func TestUsageIsLoweredOnlyOnceSettled(t *testing.T) {
	run(t, func(h *harness) {
		h.checkUsed("start", 2*time.Second, newResourceList("pods", "2"))
		charged := h.quota()
		charged.ResourceVersion, charged.Status.Used = "7", newResourceList("pods", "3")
		if _, err := h.api.CoreV1().ResourceQuotas("ns").UpdateStatus(t.Context(), charged, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the fake server has no conflicts
		if err := h.api.CoreV1().Pods("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		h.checkUsed("just charged", 900*time.Millisecond, newResourceList("pods", "3"))
		h.checkUsed("settled", 200*time.Millisecond, newResourceList("pods", "1"))
		finished := newPod("b", corev1.PodFailed)
		if _, err := h.api.CoreV1().Pods("ns").UpdateStatus(t.Context(), finished, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		h.checkUsed("finished pod", 100*time.Millisecond, newResourceList("pods", "0"))
	}, []runtime.Object{newQuota(newResourceList("pods", "5")), newPod("a", corev1.PodRunning), newPod("b", corev1.PodRunning)})
}

func TestScopes(t *testing.T) {
	q := newQuota(newResourceList("pods", "5"))
	q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
		{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"high"}}}}
	high := newPod("a", corev1.PodRunning)
	high.Spec.PriorityClassName = "high"
	run(t, func(h *harness) {
		h.checkUsed("one of two pods has the class", 100*time.Millisecond, newResourceList("pods", "1"))
	}, []runtime.Object{q, high, newPod("b", corev1.PodRunning)})
}
