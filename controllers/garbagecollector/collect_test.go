package garbagecollector

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/lru"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/runner/runnertest"
)

// harness is a garbage collector over an API of ConfigMaps that are all in the graph.
type harness struct {
	*testing.T
	*garbageCollector
	client  *fake.FakeMetadataClient
	actions []string
	events  *record.FakeRecorder
}

func newHarness(t *testing.T, objects ...*metav1.PartialObjectMetadata) *harness {
	t.Helper()
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var stored []runtime.Object
	for _, m := range objects {
		stored = append(stored, m)
	}
	h := &harness{T: t, client: fake.NewSimpleMetadataClient(scheme, stored...), events: record.NewFakeRecorder(10)}
	h.garbageCollector = &garbageCollector{env: runner.Production(), metadata: h.client, events: h.events, graph: newGraph(), absentOwners: lru.New(9), reported: lru.New(9), log: klog.Background(),
		monitors: map[schema.GroupKind]*monitor{configMaps.kind: {resource: configMaps},
			{Kind: "Node"}: {resource: monitoredResource{schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, schema.GroupKind{Kind: "Node"}, false}}}}
	h.queue = runner.NewQueue(runnertest.NewProcess(&runnertest.Queues{}), runner.QueueOptions{}, h.sync)
	h.client.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		switch a := a.(type) {
		case clienttesting.DeleteActionImpl:
			if p := a.DeleteOptions.Preconditions; p == nil || p.UID == nil || p.ResourceVersion == nil {
				t.Errorf("deletion of %s: got preconditions %+v, want a UID and a resource version", a.Name, p)
			}
			h.actions = append(h.actions, "delete "+a.Name+" "+string(*a.DeleteOptions.PropagationPolicy))
		case clienttesting.PatchActionImpl:
			h.actions = append(h.actions, "patch "+a.Name+" "+string(a.Patch))
		}
		return false, nil, nil
	})
	for _, m := range objects {
		h.graph.upsert(toObject(m))
	}
	return h
}

// checkActions reconciles an object and checks its write requests: each must contain the words of its string in want.
func (h *harness) checkActions(name string, want ...string) {
	h.Helper()
	h.actions = nil
	if _, err := h.sync(h.Context(), types.UID(name)); err != nil {
		h.Fatal(err)
	}
	ok := len(h.actions) == len(want)
	for i := 0; ok && i < len(want); i++ {
		for w := range strings.FieldsSeq(want[i]) {
			ok = ok && strings.Contains(h.actions[i], w)
		}
	}
	if !ok {
		h.Errorf("reconciling %s: actions %q, want %q", name, h.actions, want)
	}
}

func TestSyncObject(t *testing.T) {
	const foreground, orphan = metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents
	orphaning := deletingWith(newMetadata("owner"), orphan)
	orphaning.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(-time.Minute)}
	for name, tc := range map[string]struct {
		objects []*metav1.PartialObjectMetadata
		object  string
		want    []string
	}{
		"the owner exists":                              {[]*metav1.PartialObjectMetadata{newMetadata("owner"), newMetadata("a", "owner")}, "a", nil},
		"the owner is deleted":                          {[]*metav1.PartialObjectMetadata{newMetadata("a", "owner")}, "a", []string{"delete a Background"}},
		"one of two owners is deleted":                  {[]*metav1.PartialObjectMetadata{newMetadata("other"), newMetadata("a", "owner", "other")}, "a", []string{`patch a "name":"other" "resourceVersion":"1"`}},
		"the owner waits for dependents":                {[]*metav1.PartialObjectMetadata{deletingWith(newMetadata("owner"), foreground), newMetadata("a", "!owner")}, "a", []string{"delete a Background"}},
		"the owner waits, the dependent has dependents": {[]*metav1.PartialObjectMetadata{deletingWith(newMetadata("owner"), foreground), newMetadata("a", "!owner"), newMetadata("b", "!a")}, "a", []string{"delete a Foreground"}},
		"one owner waits, another one remains":          {[]*metav1.PartialObjectMetadata{deletingWith(newMetadata("owner"), foreground), newMetadata("other"), newMetadata("a", "!owner", "other")}, "a", []string{`patch a "name":"other"`}},
		"an ownership cycle":                            {[]*metav1.PartialObjectMetadata{deletingWith(newMetadata("owner", "!a"), foreground), newMetadata("a", "!owner")}, "a", []string{`patch a "blockOwnerDeletion":false`, "delete a Foreground"}},
		"the dependent is terminating":                  {[]*metav1.PartialObjectMetadata{deletingWith(newMetadata("a", "owner"), "x")}, "a", nil},
		"a blocked owner":                               {[]*metav1.PartialObjectMetadata{deletingWith(newMetadata("owner"), foreground), newMetadata("a", "!owner")}, "owner", nil},
		"an owner that is not blocked":                  {[]*metav1.PartialObjectMetadata{deletingWith(deletingWith(newMetadata("owner"), "x"), foreground), newMetadata("a", "owner")}, "owner", []string{`patch owner "finalizers":["x"]`}},
		"an owner that orphans its dependents":          {[]*metav1.PartialObjectMetadata{orphaning, newMetadata("a", "owner", "other")}, "owner", []string{`patch a "name":"other"`, `patch owner "finalizers":[]`}},
		"finalizers select the propagation policy":      {[]*metav1.PartialObjectMetadata{withFinalizer(newMetadata("a", "owner"), orphan)}, "a", []string{"delete a Orphan"}},
		"the dependent does not exist":                  {nil, "a", nil},
		"the owner is in another namespace":             {[]*metav1.PartialObjectMetadata{inOtherNamespace(newMetadata("owner")), newMetadata("a", "owner")}, "a", []string{"delete a Background"}},
	} {
		t.Run(name, func(t *testing.T) {
			newHarness(t, tc.objects...).checkActions(tc.object, tc.want...)
		})
	}
}

func withFinalizer(m *metav1.PartialObjectMetadata, f string) *metav1.PartialObjectMetadata {
	m.Finalizers = []string{f}
	return m
}

func inOtherNamespace(m *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	m.Namespace = "other"
	return m
}

func TestOwnerInOtherNamespaceIsReported(t *testing.T) {
	h := newHarness(t, inOtherNamespace(newMetadata("owner")), newMetadata("a", "owner"))
	h.checkActions("a", "delete a")
	if e := <-h.events.Events; !strings.Contains(e, "OwnerRefInvalidNamespace") || !strings.Contains(e, `does not exist in namespace "ns"`) {
		t.Errorf("event %q, want OwnerRefInvalidNamespace", e)
	}
}

// TestClusterScopedDependentOfNamespacedOwner checks that a cluster-scoped object with a namespaced owner is not
// deleted, and that an event reports the reference.
func TestClusterScopedDependentOfNamespacedOwner(t *testing.T) {
	h := newHarness(t)
	n := newMetadata("n1", "owner")
	n.Namespace, n.TypeMeta = "", metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
	if err := h.client.Tracker().Add(n); err != nil {
		t.Fatal(err)
	}
	h.graph.upsert(newObject(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, schema.GroupKind{Kind: "Node"}, n))
	h.checkActions("n1")
	if e := <-h.events.Events; !strings.Contains(e, "OwnerRefInvalidNamespace") {
		t.Errorf("event %q, want OwnerRefInvalidNamespace", e)
	}
}

func TestUnknownOwnerKindDeletesNothing(t *testing.T) {
	m := newMetadata("a", "owner")
	m.OwnerReferences[0].Kind = "Gadget"
	h := newHarness(t, m)
	if _, err := h.sync(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "Gadget") || len(h.actions) > 0 {
		t.Errorf("actions %q, error %v, want no deletion and an error", h.actions, err)
	}
}

// TestOwnerIsReadLive checks that an owner that is not in the cache is read from the API server. If this request fails,
// nothing is deleted.
func TestOwnerIsReadLive(t *testing.T) {
	h := newHarness(t, newMetadata("owner"), newMetadata("a", "owner"))
	h.graph.remove("owner")
	h.checkActions("a")
	h.client.PrependReactor("get", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.(clienttesting.GetAction).GetName() == "owner" {
			return true, nil, apierrors.NewInternalError(errors.New("etcd is busy"))
		}
		return false, nil, nil
	})
	if _, err := h.sync(t.Context(), "a"); err == nil || slices.ContainsFunc(h.actions, func(s string) bool { return strings.HasPrefix(s, "delete") }) {
		t.Errorf("actions %q, error %v, want no deletion and an error", h.actions, err)
	}
}

func TestAbsentOwnerIsCached(t *testing.T) {
	var objects []*metav1.PartialObjectMetadata
	for i := range 5 {
		objects = append(objects, newMetadata(fmt.Sprint("a", i), "owner"))
	}
	h, calls := newHarness(t, objects...), 0
	h.client.PrependReactor("get", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.(clienttesting.GetAction).GetName() == "owner" {
			calls++
		}
		return false, nil, nil
	})
	for i := range objects {
		h.checkActions(fmt.Sprint("a", i), "delete")
	}
	if calls != 1 {
		t.Errorf("the owner was read %d times, want 1", calls)
	}
}
