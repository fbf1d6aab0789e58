package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
)

var deletionTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// harness is a controller with fakes and a fixed clock.
type harness struct {
	*controller
	client    *fake.Clientset
	objects   *metadatafake.FakeMetadataClient
	now       time.Time
	discovery error
	finalized int
}

func newHarness(t *testing.T, objects ...*metav1.PartialObjectMetadata) *harness {
	t.Helper()
	ns := &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: "a", DeletionTimestamp: &metav1.Time{Time: deletionTime}, Finalizers: []string{"x/y"}},
		Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"other", corev1.FinalizerKubernetes}},
	}
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var stored []runtime.Object
	for _, o := range objects {
		stored = append(stored, o)
	}
	h := &harness{client: fake.NewClientset(ns), objects: metadatafake.NewSimpleMetadataClient(scheme, stored...), now: deletionTime}
	h.client.PrependReactor("create", "namespaces", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "finalize" {
			return false, nil, nil
		}
		h.finalized++
		sent := a.(clienttesting.CreateAction).GetObject().(*corev1.Namespace)
		if want := []corev1.FinalizerName{"other"}; !slices.Equal(sent.Spec.Finalizers, want) {
			t.Errorf("finalized with %v, want %v", sent.Spec.Finalizers, want)
		}
		return true, sent, nil
	})
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	h.objects.PrependReactor("delete-collection", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, h.objects.Tracker().Delete(pods, "a", "p") // the fake client ignores deletecollection
	})
	factory := informers.NewSharedInformerFactory(h.client, 0)
	h.controller = &controller{
		client: h.client, metadata: h.objects, namespaces: factory.Core().V1().Namespaces().Lister(),
		now: func() time.Time { return h.now }, finalizeDelay: defaultFinalizeDelay,
		discover: func() ([]*metav1.APIResourceList, error) { return servedResources, h.discovery },
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	return h
}

var servedResources = []*metav1.APIResourceList{
	{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "configmaps", Namespaced: true, Verbs: metav1.Verbs{"list", "delete"}},
		{Name: "pods", Namespaced: true, Verbs: metav1.Verbs{"list", "delete", "deletecollection"}},
		{Name: "pods/status", Namespaced: true, Verbs: metav1.Verbs{"list", "delete"}},
		{Name: "bindings", Namespaced: true, Verbs: metav1.Verbs{"create"}},
		{Name: "nodes", Verbs: metav1.Verbs{"list", "delete"}},
	}},
}

func object(kind, name string, finalizers ...string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Finalizers: finalizers},
	}
}

// blockDeletion makes deletions of a resource have no effect.
func (h *harness) blockDeletion(resource string) {
	h.objects.PrependReactor("delete-collection", resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
	h.objects.PrependReactor("delete", resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
}

func (h *harness) condition(t *testing.T, kind corev1.NamespaceConditionType) corev1.NamespaceCondition {
	t.Helper()
	ns, err := h.client.CoreV1().Namespaces().Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range ns.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	t.Fatalf("got conditions %v, want %s", ns.Status.Conditions, kind)
	return corev1.NamespaceCondition{}
}

func (h *harness) exists(t *testing.T, resource, name string) bool {
	t.Helper()
	_, err := h.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).Namespace("a").Get(t.Context(), name, metav1.GetOptions{})
	return err == nil
}

func TestContentIsDeletedBeforeFinalizer(t *testing.T) {
	h := newHarness(t, object("Pod", "p"), object("ConfigMap", "c"))
	requeueAfter, err := h.sync(t.Context(), "a")
	if err != nil || requeueAfter != defaultFinalizeDelay || h.finalized != 0 {
		t.Fatalf("first pass: requeue after %v, error %v, finalized %d; want to wait %v", requeueAfter, err, h.finalized, defaultFinalizeDelay)
	}
	if h.exists(t, "pods", "p") || h.exists(t, "configmaps", "c") {
		t.Error("the pod or the ConfigMap exists after the first pass, want neither")
	}
	h.now = deletionTime.Add(defaultFinalizeDelay)
	if requeueAfter, err = h.sync(t.Context(), "a"); err != nil || requeueAfter != 0 || h.finalized != 1 {
		t.Errorf("second pass: requeue after %v, error %v, finalized %d; want finalized once", requeueAfter, err, h.finalized)
	}
	if got := h.condition(t, corev1.NamespaceContentRemaining); got.Status != corev1.ConditionFalse {
		t.Errorf("condition %v, want status False", got)
	}
}

func TestPodsAreDeletedFirst(t *testing.T) {
	h := newHarness(t, object("Pod", "p", "example.com/hold"), object("ConfigMap", "c"))
	h.blockDeletion("pods")
	h.now = deletionTime.Add(time.Hour)
	requeueAfter, err := h.sync(t.Context(), "a")
	if err != nil || requeueAfter != retryInterval || h.finalized != 0 {
		t.Fatalf("requeue after %v, error %v, finalized %d; want a retry", requeueAfter, err, h.finalized)
	}
	if !h.exists(t, "configmaps", "c") {
		t.Error("the ConfigMap was deleted before the pod, want the pod first")
	}
	if got, want := h.condition(t, corev1.NamespaceContentRemaining).Message, "Some resources are remaining: pods. has 1 resource instances"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if got, want := h.condition(t, corev1.NamespaceFinalizersRemaining).Message, "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

func TestFailuresAreReportedAndBlockFinalization(t *testing.T) {
	for name, tc := range map[string]struct {
		setup func(*harness)
		kind  corev1.NamespaceConditionType
	}{
		"discovery": {
			setup: func(h *harness) { h.discovery = errors.New("metrics.k8s.io is unavailable") },
			kind:  corev1.NamespaceDeletionDiscoveryFailure,
		},
		"deletion": {
			setup: func(h *harness) {
				h.objects.PrependReactor("delete", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, fmt.Errorf("metrics.k8s.io is unavailable")
				})
			},
			kind: corev1.NamespaceDeletionContentFailure,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, object("ConfigMap", "c"))
			tc.setup(h)
			h.now = deletionTime.Add(time.Hour)
			if _, err := h.sync(t.Context(), "a"); err == nil || h.finalized != 0 {
				t.Errorf("error %v, finalized %d; want an error and no finalization", err, h.finalized)
			}
			if got := h.condition(t, tc.kind); got.Status != corev1.ConditionTrue || !strings.Contains(got.Message, "is unavailable") {
				t.Errorf("condition %v, want True with the error", got)
			}
		})
	}
}

// TestRunWaitsForRequests checks that Run does not return while a request is in flight, since another instance may start
// then.
func TestRunWaitsForRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, object("Pod", "p"))
		release, done := make(chan bool), make(chan error, 1)
		h.objects.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			<-release
			return false, nil, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- h.run(ctx, informers.NewSharedInformerFactory(h.client, 0), klog.Background()) }()
		time.Sleep(time.Second)
		cancel()
		time.Sleep(time.Second)
		if len(done) > 0 {
			t.Error("Run returned while a request was in flight, want it to wait")
		}
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestActiveNamespacesAreIgnored(t *testing.T) {
	h := newHarness(t, object("ConfigMap", "c"))
	if err := h.client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("namespaces"),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	factory := informers.NewSharedInformerFactory(h.client, 0)
	h.controller.namespaces = factory.Core().V1().Namespaces().Lister()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if requeueAfter, err := h.sync(ctx, "a"); requeueAfter != 0 || err != nil {
		t.Errorf("requeue after %v, error %v, want neither", requeueAfter, err)
	}
	if !h.exists(t, "configmaps", "c") {
		t.Error("the ConfigMap of an active namespace was deleted, want it unchanged")
	}
}
