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
	r := &harness{client: fake.NewClientset(ns), objects: metadatafake.NewSimpleMetadataClient(scheme, stored...), now: deletionTime}
	r.client.PrependReactor("create", "namespaces", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "finalize" {
			return false, nil, nil
		}
		r.finalized++
		sent := a.(clienttesting.CreateAction).GetObject().(*corev1.Namespace)
		if want := []corev1.FinalizerName{"other"}; !slices.Equal(sent.Spec.Finalizers, want) {
			t.Errorf("finalized with %v, want %v", sent.Spec.Finalizers, want)
		}
		return true, sent, nil
	})
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	r.objects.PrependReactor("delete-collection", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, r.objects.Tracker().Delete(pods, "a", "p") // the fake client ignores deletecollection
	})
	factory := informers.NewSharedInformerFactory(r.client, 0)
	r.controller = &controller{
		client: r.client, metadata: r.objects, namespaces: factory.Core().V1().Namespaces().Lister(),
		now: func() time.Time { return r.now }, finalizeDelay: defaultFinalizeDelay,
		discover: func() ([]*metav1.APIResourceList, error) { return served, r.discovery },
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	return r
}

var served = []*metav1.APIResourceList{
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
func (r *harness) blockDeletion(resource string) {
	r.objects.PrependReactor("delete-collection", resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
	r.objects.PrependReactor("delete", resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
}

func (r *harness) condition(t *testing.T, kind corev1.NamespaceConditionType) corev1.NamespaceCondition {
	t.Helper()
	ns, err := r.client.CoreV1().Namespaces().Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range ns.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	t.Fatalf("no condition %s in %v", kind, ns.Status.Conditions)
	return corev1.NamespaceCondition{}
}

func (r *harness) exists(t *testing.T, resource, name string) bool {
	t.Helper()
	_, err := r.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).Namespace("a").Get(t.Context(), name, metav1.GetOptions{})
	return err == nil
}

func TestContentIsDeletedBeforeFinalizer(t *testing.T) {
	r := newHarness(t, object("Pod", "p"), object("ConfigMap", "c"))
	requeueAfter, err := r.sync(t.Context(), "a")
	if err != nil || requeueAfter != defaultFinalizeDelay || r.finalized != 0 {
		t.Fatalf("first pass: requeue after %v, error %v, finalized %d; want to wait %v", requeueAfter, err, r.finalized, defaultFinalizeDelay)
	}
	if r.exists(t, "pods", "p") || r.exists(t, "configmaps", "c") {
		t.Error("content remains")
	}
	r.now = deletionTime.Add(defaultFinalizeDelay)
	if requeueAfter, err = r.sync(t.Context(), "a"); err != nil || requeueAfter != 0 || r.finalized != 1 {
		t.Errorf("second pass: requeue after %v, error %v, finalized %d; want finalized once", requeueAfter, err, r.finalized)
	}
	if got := r.condition(t, corev1.NamespaceContentRemaining); got.Status != corev1.ConditionFalse {
		t.Errorf("condition %v, want False", got)
	}
}

func TestPodsAreDeletedFirst(t *testing.T) {
	r := newHarness(t, object("Pod", "p", "example.com/hold"), object("ConfigMap", "c"))
	r.blockDeletion("pods")
	r.now = deletionTime.Add(time.Hour)
	requeueAfter, err := r.sync(t.Context(), "a")
	if err != nil || requeueAfter != retryInterval || r.finalized != 0 {
		t.Fatalf("requeue after %v, error %v, finalized %d; want a retry", requeueAfter, err, r.finalized)
	}
	if !r.exists(t, "configmaps", "c") {
		t.Error("the config map was deleted before the pod")
	}
	if got, want := r.condition(t, corev1.NamespaceContentRemaining).Message, "Some resources are remaining: pods. has 1 resource instances"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if got, want := r.condition(t, corev1.NamespaceFinalizersRemaining).Message, "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

func TestFailuresAreReportedAndBlockFinalization(t *testing.T) {
	for name, tc := range map[string]struct {
		set  func(*harness)
		kind corev1.NamespaceConditionType
	}{
		"discovery": {
			set:  func(r *harness) { r.discovery = errors.New("metrics.k8s.io is unavailable") },
			kind: corev1.NamespaceDeletionDiscoveryFailure,
		},
		"deletion": {
			set: func(r *harness) {
				r.objects.PrependReactor("delete", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, fmt.Errorf("metrics.k8s.io is unavailable")
				})
			},
			kind: corev1.NamespaceDeletionContentFailure,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t, object("ConfigMap", "c"))
			tc.set(r)
			r.now = deletionTime.Add(time.Hour)
			if _, err := r.sync(t.Context(), "a"); err == nil || r.finalized != 0 {
				t.Errorf("error %v, finalized %d; want an error and no finalization", err, r.finalized)
			}
			if got := r.condition(t, tc.kind); got.Status != corev1.ConditionTrue || !strings.Contains(got.Message, "is unavailable") {
				t.Errorf("condition %v, want True with the error", got)
			}
		})
	}
}

// TestRunStopsWithContext checks that Run returns only after its requests, since another instance may start then.
func TestRunStopsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHarness(t, object("Pod", "p"))
		release, done := make(chan bool), make(chan error, 1)
		r.objects.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			<-release
			return false, nil, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- r.run(ctx, informers.NewSharedInformerFactory(r.client, 0), klog.Background()) }()
		time.Sleep(time.Second)
		cancel()
		time.Sleep(time.Second)
		if len(done) > 0 {
			t.Error("Run returned with a request in flight")
		}
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestActiveNamespacesAreIgnored(t *testing.T) {
	r := newHarness(t, object("ConfigMap", "c"))
	if err := r.client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("namespaces"),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	factory := informers.NewSharedInformerFactory(r.client, 0)
	r.controller.namespaces = factory.Core().V1().Namespaces().Lister()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if requeueAfter, err := r.sync(ctx, "a"); requeueAfter != 0 || err != nil {
		t.Errorf("requeue after %v, error %v, want neither", requeueAfter, err)
	}
	if !r.exists(t, "configmaps", "c") {
		t.Error("content of an active namespace was deleted")
	}
}
