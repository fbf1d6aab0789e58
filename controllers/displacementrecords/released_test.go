package displacementrecords

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/controllers/runner/runnertest"
	"github.com/berthproject/berth/internal/journal"
)

// completeRecord stores a record, completes it, and returns it.
func (h *harness) completeRecord(change func(*journal.Displacement)) *journal.Displacement {
	h.t.Helper()
	if err := h.client.Tracker().Add(newRecordEvent(h.t, "ns", h.now, change)); err != nil {
		h.t.Fatal(err)
	}
	c := h.instances[0]
	h.syncCache(c, true)
	h.syncCache(c, false)
	h.processQueues(c)
	h.syncCache(c, false)
	return c.events.List()[0].(*entry).rec
}

// TestReleasedReplacementIsReplaced checks that a pod that its owner released before it was bound is not the replacement of a displaced
// pod. The owner's next pod is.
func TestReleasedReplacementIsReplaced(t *testing.T) {
	h := newHarness(t, 1, 1)
	at := h.now
	released := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "released", UID: "released", CreationTimestamp: metav1.NewTime(h.now)}}
	if err := h.client.Tracker().Add(released); err != nil {
		t.Fatal(err)
	}
	h.createReplica()
	rec := h.completeRecord(func(d *journal.Displacement) {
		d.Deleted, d.Replacement = &at, &journal.Replacement{Name: "released", UID: "released"}
	})
	if r := rec.Replacement; r == nil || r.UID != "u1" || r.Node != "n1" {
		t.Errorf("got replacement %+v, want u1 on n1", r)
	}
}

// TestReleaseEnqueuesTheOwner checks that the release of a pod leads to the completion of the records of its owner.
func TestReleaseEnqueuesTheOwner(t *testing.T) {
	queues := &runnertest.Queues{}
	k := newController(runnertest.NewProcess(queues), Options{})
	record := entryOf(t, newRecordEvent(t, "ns", k.now(), func(*journal.Displacement) {}))
	k.onRecord(nil, record)
	queues.Take()
	isController := true
	owned := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p2", UID: "u2",
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "rs", UID: "rs", Controller: &isController}}}}
	released := owned.DeepCopy()
	released.OwnerReferences = nil
	k.onPod(owned, released)
	if keys := queues.Take(); !slices.Contains(keys, any(record.owner())) {
		t.Errorf("enqueued %v, want %v", keys, record.owner())
	}
}

// TestRecordOfAdoptedPodGetsItsOwner checks that the owner is added to a record whose writer had not observed the adoption.
func TestRecordOfAdoptedPodGetsItsOwner(t *testing.T) {
	h := newHarness(t, 1, 1)
	h.createReplica()
	rec := h.completeRecord(func(d *journal.Displacement) { d.Pod.Name, d.Pod.UID, d.Owner = "p1", "u1", nil })
	if rec.Owner == nil || rec.Owner.UID != "rs" || rec.Owner.Kind != "ReplicaSet" {
		t.Errorf("got owner %+v, want ReplicaSet rs", rec.Owner)
	}
}
