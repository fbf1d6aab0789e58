package displacementrecords

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/journal"
)

// fakeHoldStore stores Holds in memory.
type fakeHoldStore struct {
	mu        sync.Mutex
	holds     map[string]*v1alpha1.Hold
	notServed bool
}

var notFound = apierrors.NewNotFound(schema.GroupResource{Group: "berth.dev", Resource: "holds"}, "h")

func (s *fakeHoldStore) Served() (bool, error) { return !s.notServed, nil }

func (s *fakeHoldStore) List(context.Context) (out []v1alpha1.Hold, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.holds {
		out = append(out, *h)
	}
	return out, nil
}

func (s *fakeHoldStore) Get(_ context.Context, namespace, name string) (*v1alpha1.Hold, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.holds[namespace+"/"+name]; h != nil {
		return h.DeepCopy(), nil
	}
	return nil, notFound
}

func (s *fakeHoldStore) Create(ctx context.Context, h *v1alpha1.Hold) error { return s.Update(ctx, h) }

func (s *fakeHoldStore) Update(_ context.Context, h *v1alpha1.Hold) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds[h.Namespace+"/"+h.Name] = h.DeepCopy()
	return nil
}

func (s *fakeHoldStore) Delete(_ context.Context, h *v1alpha1.Hold) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holds, h.Namespace+"/"+h.Name)
	return nil
}

// hold returns the only Hold, or nil.
func (s *fakeHoldStore) hold() *v1alpha1.Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.holds {
		return h
	}
	return nil
}

// holdHarness is a controller with a fixed clock, one node and a pod.
type holdHarness struct {
	*controller
	*fakeHoldStore
	t     *testing.T
	at    time.Time
	node  *corev1.Node
	nodes cache.Indexer
	pods  cache.Indexer
}

var testOwnerNode = ownerNode{"ns", "rs", "n1"}

func newHoldHarness(t *testing.T) *holdHarness {
	b := &holdHarness{t: t, at: time.Unix(1e6, 0), fakeHoldStore: &fakeHoldStore{holds: map[string]*v1alpha1.Hold{}}, nodes: cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil),
		pods: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
	b.controller = newController(newProcess(nil), Options{Backoff: displacement.Backoff{First: 10 * time.Second, Max: 10 * time.Minute}})
	b.controller.now = func() time.Time { return b.at }
	b.controller.holds, b.controller.records, b.controller.nodes = b.fakeHoldStore, cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers), corelisters.NewNodeLister(b.nodes)
	b.controller.pods = corelisters.NewPodLister(b.pods)
	b.createReplica("ns", "rs")
	b.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	b.updateNode(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}} })
	return b
}

func (h *holdHarness) updateNode(change func(*corev1.Node)) {
	h.node = h.node.DeepCopy()
	change(h.node)
	_ = h.nodes.Update(h.node)
	h.onNode(nil, h.node)
}

// addEviction adds a record of the eviction of a pod that was created at the given time.
func (h *holdHarness) addEviction(c displacement.Cause, uid string, created time.Time) {
	e := &entry{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: uid}, rec: &journal.Displacement{Time: h.at, Cause: c.String(), Node: "n1",
		Pod: journal.Pod{Namespace: "ns", Name: uid, UID: uid, Created: &created}, Owner: &journal.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs"}}}
	_ = h.controller.records.Add(e)
	h.onRecord(nil, e)
	h.step()
}

func (h *holdHarness) step() time.Duration {
	h.t.Helper()
	requeueAfter, err := h.reconcileHold(h.t.Context(), testOwnerNode)
	if err != nil {
		h.t.Fatal(err)
	}
	return requeueAfter
}

func TestHoldBackoffGrowsAndExpires(t *testing.T) {
	b := newHoldHarness(t)
	b.addEviction(displacement.Taint, "a", b.at.Add(-time.Hour))
	b.addEviction(displacement.Taint, "b", b.at.Add(-time.Hour))
	h := b.hold()
	if h == nil || h.Spec.Count != 1 || h.Spec.Cause != "Taint" || !h.Spec.Until.Time.Equal(b.at.Add(10*time.Second)) || h.Spec.Owner.Kind != "ReplicaSet" {
		t.Fatalf("Hold %+v, want count 1 for 10 s", h)
	}
	b.at = b.at.Add(11 * time.Second)
	b.step()
	if b.hold() != nil {
		t.Fatal("the Hold exists after its end, want it deleted")
	}
	b.addEviction(displacement.Taint, "c", b.at)
	if h := b.hold(); h == nil || h.Spec.Count != 2 || h.Spec.Until.Sub(b.at) != 20*time.Second {
		t.Fatalf("Hold %+v, want count 2 for 20 s", h)
	}
	b.updateNode(func(n *corev1.Node) { n.Spec.Taints = nil })
	b.step()
	if b.hold() != nil {
		t.Fatal("the Hold exists after the taint was removed, want it deleted")
	}
	b.updateNode(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}} })
	if requeueAfter := b.step(); b.hold() == nil || requeueAfter <= 0 {
		t.Fatal("no Hold after the taint was added again before its end, want it created again")
	}
	_ = b.nodes.Delete(b.node)
	b.step()
	if b.hold() != nil {
		t.Fatal("the Hold exists after the node was deleted, want it deleted")
	}
}

func TestPressureHoldEndsWithCondition(t *testing.T) {
	b := newHoldHarness(t)
	condition := func(s corev1.ConditionStatus, reported time.Time) {
		b.updateNode(func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: s, LastHeartbeatTime: metav1.NewTime(reported)}}
		})
		b.step()
	}
	condition(corev1.ConditionFalse, b.at.Add(-time.Second))
	b.addEviction(displacement.Pressure, "a", b.at.Add(-time.Hour))
	if b.hold() == nil {
		t.Fatal("the Hold was deleted because of a condition that was reported before the eviction, want it unchanged")
	}
	condition(corev1.ConditionTrue, b.at.Add(time.Second))
	if b.hold() == nil {
		t.Fatal("the Hold was deleted although the node reports memory pressure, want it unchanged")
	}
	condition(corev1.ConditionFalse, b.at.Add(2*time.Second))
	if b.hold() != nil {
		t.Fatal("the Hold exists after the pressure ended, want it deleted")
	}
}

func TestHoldsNotServedOrDisabled(t *testing.T) {
	b := newHoldHarness(t)
	b.notServed = true
	b.addEviction(displacement.Taint, "a", b.at)
	if b.hold() != nil {
		t.Error("a Hold was created although Holds are not served, want none")
	}
	b.notServed = false
	b.addEviction(displacement.API, "b", b.at)
	if h := b.hold(); h == nil || h.Spec.Victim.Name != "a" {
		t.Errorf("Hold %+v, want one for victim a only: API-initiated evictions create no Hold", h)
	}
	b.o.Backoff.First = 0
	b.step()
	if b.hold() != nil {
		t.Error("a Hold exists although Holds are disabled, want none")
	}
}

func TestSweepDeletesExpiredHolds(t *testing.T) {
	b := newHoldHarness(t)
	for name, spec := range map[string]v1alpha1.HoldSpec{
		"expired":       {Type: v1alpha1.Reserve, Until: metav1.NewTime(b.at)},
		"futile-move":   {Type: v1alpha1.Avoid, Cause: "Descheduling", Until: metav1.NewTime(b.at.Add(-23 * time.Hour))},
		"old-futile":    {Type: v1alpha1.Avoid, Cause: "Descheduling", Until: metav1.NewTime(b.at.Add(-24 * time.Hour))},
		"active":        {Type: v1alpha1.Reserve, Until: metav1.NewTime(b.at.Add(time.Minute))},
		"other-creator": {Type: v1alpha1.Avoid, Cause: "Taint", Owner: v1alpha1.Owner{UID: "rs"}, Node: "n1", Until: metav1.NewTime(b.at.Add(time.Minute))},
	} {
		b.fakeHoldStore.holds["ns/"+name] = &v1alpha1.Hold{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: spec}
	}
	b.updateNode(func(n *corev1.Node) { n.Spec.Taints = nil })
	b.resyncHolds(t.Context())
	b.step()
	if len(b.fakeHoldStore.holds) != 3 || b.fakeHoldStore.holds["ns/expired"] != nil || b.fakeHoldStore.holds["ns/old-futile"] != nil {
		t.Errorf("Holds %v, want futile-move, active and other-creator", b.fakeHoldStore.holds)
	}
}

// TestHoldWithoutRecords checks that a new instance without events leaves the Holds of another one until they expire
// or their cause ends.
func TestHoldWithoutRecords(t *testing.T) {
	b := newHoldHarness(t)
	b.addEviction(displacement.Taint, "a", b.at)
	other := newHoldHarness(t)
	other.fakeHoldStore = b.fakeHoldStore
	other.controller.holds = b.fakeHoldStore
	other.resyncHolds(t.Context())
	other.step()
	if other.hold() == nil {
		t.Fatal("the Hold was deleted before its end, want it unchanged")
	}
	other.updateNode(func(n *corev1.Node) { n.Spec.Taints = nil })
	other.step()
	if other.hold() != nil {
		t.Error("the Hold exists after the taint was removed, want it deleted")
	}
}
