package displacementrecords

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/runner/runnertest"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/journal"
)

// harness is an API with random request failures, and several instances of the controller with caches that lag.
type harness struct {
	t           *testing.T
	rng         *rand.Rand
	client      *fake.Clientset
	now         time.Time
	faults      bool // some requests fail
	created     int  // number of created replicas
	instances   []*instance
	causes      map[string]displacement.Cause // by UID, of displaced pods
	byDisplacer map[string]bool               // by UID: displaced through displacer.Displacer
}

type instance struct {
	*controller
	dir    string
	events cache.Indexer
	pods   cache.Indexer
}

var errFault = apierrors.NewInternalError(errors.New("fault"))

func newHarness(t *testing.T, seed uint64, instances int) *harness {
	h := &harness{t: t, rng: rand.New(rand.NewPCG(seed, 1)), client: fake.NewClientset(), now: time.Unix(1e6, 0),
		causes: map[string]displacement.Cause{}, byDisplacer: map[string]bool{}}
	h.client.PrependReactor("*", "*", func(a ktesting.Action) (bool, runtime.Object, error) {
		if h.faults && a.GetVerb() != "list" && h.rng.IntN(5) == 0 {
			return true, nil, errFault
		}
		return false, nil, nil
	})
	h.client.PrependReactor("create", "events", func(a ktesting.Action) (bool, runtime.Object, error) { // as an API server does
		a.(ktesting.CreateAction).GetObject().(*eventsv1.Event).CreationTimestamp = metav1.NewTime(h.now.Truncate(time.Second))
		return false, nil, nil
	})
	for range instances {
		h.instances = append(h.instances, h.start(t.TempDir()))
	}
	return h
}

// newProcess returns a process whose queues only record keys.
func newProcess(client kubernetes.Interface) *runner.Process {
	p := runnertest.NewProcess(&runnertest.Queues{})
	p.Client = client
	return p
}

// start starts an instance with its journal and empty caches.
func (h *harness) start(dir string) *instance {
	j, err := journal.Open(dir, journal.Options{Writer: "test"})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = j.Close() })
	k := newController(newProcess(h.client), Options{Journal: j, Backoff: displacement.Backoff{First: 10 * time.Second, Max: 10 * time.Minute}})
	k.now = func() time.Time { return h.now }
	if err := k.loadJournal(); err != nil {
		h.t.Fatal(err)
	}
	c := &instance{controller: k, dir: dir, events: cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers),
		pods: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
	nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	k.records, k.pods, k.nodes = c.events, corelisters.NewPodLister(c.pods), corelisters.NewNodeLister(nodes)
	return c
}

// syncCache updates the pods of an instance or, if pods is false, its events.
func (h *harness) syncCache(c *instance, pods bool) {
	stored := map[string]any{}
	if pods {
		list, _ := h.client.CoreV1().Pods("").List(h.t.Context(), metav1.ListOptions{})
		for i := range list.Items {
			stored[list.Items[i].Namespace+"/"+list.Items[i].Name] = &list.Items[i]
		}
		replaceStore(c.pods, stored, c.onPod)
		return
	}
	list, _ := h.client.EventsV1().Events("").List(h.t.Context(), metav1.ListOptions{})
	for i := range list.Items {
		if e, _ := toEntry(&list.Items[i]); list.Items[i].Labels[journal.Label] != "" {
			stored[list.Items[i].Namespace+"/"+list.Items[i].Name] = e
		}
	}
	replaceStore(c.events, stored, c.onRecord)
}

// replaceStore replaces the contents of an indexer and calls onChange for each added, updated and deleted object.
func replaceStore[T any](indexer cache.Indexer, stored map[string]any, onChange func(old, cur *T)) {
	for _, key := range slices.Sorted(slices.Values(indexer.ListKeys())) {
		if old, _, _ := indexer.GetByKey(key); stored[key] == nil {
			_ = indexer.Delete(old)
			onChange(old.(*T), nil)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(stored)) {
		old, exists, _ := indexer.GetByKey(key)
		_ = indexer.Update(stored[key])
		if exists {
			onChange(old.(*T), stored[key].(*T))
		} else {
			onChange(nil, stored[key].(*T))
		}
	}
}

// processQueues processes all keys of an instance.
func (h *harness) processQueues(c *instance) {
	for _, uid := range slices.Sorted(maps.Keys(c.pending)) {
		_, _ = c.writeMissingRecord(h.t.Context(), uid)
	}
	for _, key := range slices.SortedFunc(maps.Keys(c.openRecords), func(a, b owner) int { return len(a.uid) - len(b.uid) }) {
		_, _ = c.completeRecords(h.t.Context(), key)
	}
	for _, key := range c.events.ListKeys() {
		_, _ = c.journalRecord(h.t.Context(), key)
	}
}

// createReplica creates a running pod of the only owner, the ReplicaSet rs.
func (h *harness) createReplica() {
	h.created++
	isController := true
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("p", h.created), UID: types.UID(fmt.Sprint("u", h.created)), CreationTimestamp: metav1.NewTime(h.now),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs", Controller: &isController}}},
		Spec: corev1.PodSpec{NodeName: "n1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(h.now)},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(h.now)}}}}
	_ = h.client.Tracker().Add(p)
}

// recordsByPod returns the events with records, by the pod's UID.
func (h *harness) recordsByPod() map[string][]*eventsv1.Event {
	list, err := h.client.EventsV1().Events("").List(h.t.Context(), metav1.ListOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	out := map[string][]*eventsv1.Event{}
	for i := range list.Items {
		e := &list.Items[i]
		out[string(e.Regarding.UID)] = append(out[string(e.Regarding.UID)], e)
	}
	return out
}
