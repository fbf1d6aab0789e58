package displacementrecords

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/journal"
)

// newRecordEvent returns an event with a record that any event writer could have created.
func newRecordEvent(t *testing.T, namespace string, at time.Time, change func(*journal.Displacement)) *eventsv1.Event {
	t.Helper()
	rec := &journal.Displacement{Time: at, Cause: displacement.Taint.String(), Node: "n1", Pod: journal.Pod{Namespace: namespace, Name: "p", UID: "u"},
		Owner: &journal.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs"}}
	change(rec)
	text, err := rec.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: displacer.RecordEventName(rec.Pod.Name, rec.Pod.UID), CreationTimestamp: metav1.NewTime(at.Truncate(time.Second)),
		Labels: map[string]string{journal.Label: rec.Cause}, Annotations: map[string]string{journal.Annotation: text}}}
}

// entryOf returns the cached form of an event.
func entryOf(t *testing.T, e *eventsv1.Event) *entry {
	t.Helper()
	out, err := toEntry(e)
	if err != nil {
		t.Fatal(err)
	}
	return out.(*entry)
}

// TestFromEventTrustsOnlyItsNamespace checks that an event is trusted for the pod that it is named after, in its own
// namespace, and for times before its creation.
func TestFromEventTrustsOnlyItsNamespace(t *testing.T) {
	at := time.Unix(1e6, 700e6).UTC()
	for name, x := range map[string]struct {
		change func(*journal.Displacement)
		rename string
		want   time.Time // zero: no record
	}{
		"the pod of the event":  {func(*journal.Displacement) {}, "", at},
		"with a long name":      {func(d *journal.Displacement) { d.Pod.Name = strings.Repeat("x", 253) }, "", at},
		"an old displacement":   {func(d *journal.Displacement) { d.Time = at.Add(-time.Hour) }, "", at.Add(-time.Hour)},
		"a clock that is ahead": {func(d *journal.Displacement) { d.Time = at.Add(time.Hour) }, "", time.Unix(1e6+1, 0)},
		"another namespace":     {func(d *journal.Displacement) { d.Pod.Namespace = "b" }, "", time.Time{}},
		"another name":          {func(*journal.Displacement) {}, "p.0", time.Time{}},
		"another pod":           {func(*journal.Displacement) {}, displacer.RecordEventName("p", "v"), time.Time{}},
		"no record":             {func(d *journal.Displacement) { d.Cause = "" }, "", time.Time{}},
	} {
		e := newRecordEvent(t, "a", at, x.change)
		if x.rename != "" {
			e.Name = x.rename
		}
		rec := entryOf(t, e).rec
		if got := rec != nil; got == x.want.IsZero() || got && !rec.Time.Equal(x.want) {
			t.Errorf("%s: record %+v, want time %v (zero: no record)", name, rec, x.want)
		}
	}
}

// TestFromEventAcceptsDisplacerRecords checks that records of Berth's displacers are trusted.
func TestFromEventAcceptsDisplacerRecords(t *testing.T) {
	h := newHarness(t, 1, 0)
	h.createReplica()
	p := h.randomPod()
	p.Spec.NodeName = "n1"
	d := displacer.Displacer{Client: h.client, Now: func() time.Time { return h.now.Add(999 * time.Millisecond) }, Component: "test"}
	if err := d.Displace(t.Context(), displacer.Displacement{Pod: p, Cause: displacement.Taint, RequestedBy: "test"}); err != nil {
		t.Fatal(err)
	}
	events := h.recordsByPod()[string(p.UID)]
	if len(events) != 1 {
		t.Fatalf("%d events, want 1", len(events))
	}
	if rec := FromEvent(events[0]); rec == nil || rec.Node != "n1" || !rec.Time.Equal(d.Now()) {
		t.Errorf("record %+v, want one for n1 at %v", rec, d.Now())
	}
}

// TestHoldDurationIsBounded checks that a record with a time years ahead does not extend a Hold.
func TestHoldDurationIsBounded(t *testing.T) {
	for _, c := range []displacement.Cause{displacement.Taint, displacement.Admission} {
		b := newHoldHarness(t)
		e := entryOf(t, newRecordEvent(t, "ns", b.at, func(d *journal.Displacement) { d.Time, d.Cause = b.at.AddDate(100, 0, 0), c.String() }))
		_ = b.controller.records.Add(e)
		b.onRecord(nil, e)
		b.step()
		h := b.hold()
		if h == nil || h.Spec.Until.After(b.at.Add(b.o.Backoff.Max)) {
			t.Fatalf("%v: Hold %+v, want one of at most %v", c, h, b.o.Backoff.Max)
		}
		h.Spec.Until = metav1.NewTime(b.at.AddDate(8000, 0, 0)) // created earlier, with its event deleted
		_ = b.controller.records.Delete(e)
		b.resyncHolds(t.Context())
		if requeueAfter := b.step(); b.hold() != nil || requeueAfter < 0 {
			t.Errorf("%v: Hold %+v, requeued after %v, want no Hold", c, b.hold(), requeueAfter)
		}
	}
}

// TestHoldRequiresExistingOwner checks that a Hold requires an owner with pods in the namespace and names it as they
// do, regardless of the record.
func TestHoldRequiresExistingOwner(t *testing.T) {
	b := newHoldHarness(t)
	key := ownerNode{"ns", "new", "n1"}
	e := entryOf(t, newRecordEvent(t, "ns", b.at, func(d *journal.Displacement) { d.Owner.UID, d.Owner.Name, d.Owner.Kind = "new", "forged", "Forged" }))
	_ = b.controller.records.Add(e)
	b.onRecord(nil, e)
	reconcile := func() time.Duration {
		requeueAfter, err := b.reconcileHold(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return requeueAfter
	}
	if requeueAfter := reconcile(); b.hold() != nil || requeueAfter <= 0 {
		t.Fatalf("Hold %+v without an owner, requeued after %v, want no Hold and a retry", b.hold(), requeueAfter)
	}
	b.createReplica("elsewhere", "new")
	if reconcile(); b.hold() != nil {
		t.Fatalf("Hold %+v of an owner in another namespace, want none", b.hold())
	}
	b.createReplica("ns", "new")
	reconcile()
	if h := b.hold(); h == nil || h.Spec.Owner.Name != "new" || h.Spec.Owner.Kind != "ReplicaSet" || h.Spec.Owner.UID != "new" {
		t.Fatalf("Hold %+v, want ReplicaSet new as owner", h)
	}
	_ = b.pods.Replace(nil, "")
	if reconcile(); b.hold() == nil {
		t.Error("the Hold was deleted while the owner had no pods, want it unchanged")
	}
}

// TestRecordsAreMatchedByUID checks that a forged record with the UID of another pod does not affect that pod's
// record in the journal.
func TestRecordsAreMatchedByUID(t *testing.T) {
	h := newHarness(t, 1, 1)
	c := h.instances[0]
	now := h.now.UTC()
	forged := entryOf(t, newRecordEvent(t, "a", h.now, func(d *journal.Displacement) {
		d.Pod.UID, d.Deleted, d.Replacement = "u1", &now, &journal.Replacement{Name: "q", Node: "n", Ready: &now, Scheduled: &now}
	}))
	h.createReplica()
	p := h.randomPod()
	if err := (&displacer.Displacer{Client: h.client, Now: func() time.Time { return h.now }, Component: "test"}).Displace(t.Context(),
		displacer.Displacement{Pod: p, Cause: displacement.Taint, RequestedBy: "test"}); err != nil {
		t.Fatal(err)
	}
	_ = c.events.Add(forged)
	c.onRecord(nil, forged)
	if _, err := c.journalRecord(t.Context(), forged.Namespace+"/"+forged.Name); err != nil {
		t.Fatal(err)
	}
	h.syncCache(c, true)
	for _, e := range h.recordsByPod()["u1"] {
		cached := entryOf(t, e)
		_ = c.events.Add(cached)
		c.onRecord(nil, cached)
	}
	c.onPod(p, nil)
	c.onRecord(forged, nil)
	if len(c.deletedAt) != 1 {
		t.Errorf("deletion times %v, want one", c.deletedAt)
	}
	h.processQueues(c)
	list, _, err := c.o.Journal.Read()
	if err != nil || len(list) != 2 {
		t.Errorf("the journal has %d records, want 2; error %v", len(list), err)
	}
}

// TestChangedRecordIsForgotten checks that only the new content of a changed record is tracked.
func TestChangedRecordIsForgotten(t *testing.T) {
	b := newHoldHarness(t)
	first := entryOf(t, newRecordEvent(t, "ns", b.at, func(*journal.Displacement) {}))
	second := entryOf(t, newRecordEvent(t, "ns", b.at, func(d *journal.Displacement) { d.Owner.UID = "other" }))
	b.onRecord(nil, first)
	b.onRecord(first, second)
	if len(b.openRecords) != 1 || len(b.openRecords[second.owner()]) != 1 {
		t.Errorf("open records %v, want only those of the second owner", b.openRecords)
	}
	b.onRecord(second, &entry{ObjectMeta: second.ObjectMeta})
	if len(b.openRecords) != 0 {
		t.Errorf("open records %v, want none", b.openRecords)
	}
}

func (h *holdHarness) createReplica(namespace, owner string) {
	isController := true
	_ = h.pods.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "of-" + owner, UID: types.UID("of-" + owner),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: &isController}}}})
}
