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
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/internal/journal"
)

// writeRecordEvent returns an event with a record that any event writer could have created.
func writeRecordEvent(t *testing.T, namespace string, at time.Time, change func(*journal.Displacement)) *eventsv1.Event {
	t.Helper()
	rec := &journal.Displacement{Time: at, Cause: displacement.Taint.String(), Node: "n1", Pod: journal.Pod{Namespace: namespace, Name: "p", UID: "u"},
		Owner: &journal.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs"}}
	change(rec)
	text, err := rec.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: executor.RecordEventName(rec.Pod.Name, rec.Pod.UID), CreationTimestamp: metav1.NewTime(at.Truncate(time.Second)),
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

// An event is trusted for the pod that it is named after, in its own namespace, and for times before its creation.
func TestFromEventTrustsOwnNamespaceOnly(t *testing.T) {
	at := time.Unix(1e6, 700e6).UTC()
	for name, x := range map[string]struct {
		change func(*journal.Displacement)
		rename string
		want   time.Time // zero: no record
	}{
		"its own":               {func(*journal.Displacement) {}, "", at},
		"with a long name":      {func(d *journal.Displacement) { d.Pod.Name = strings.Repeat("x", 253) }, "", at},
		"an old displacement":   {func(d *journal.Displacement) { d.Time = at.Add(-time.Hour) }, "", at.Add(-time.Hour)},
		"a clock that is ahead": {func(d *journal.Displacement) { d.Time = at.Add(time.Hour) }, "", time.Unix(1e6+1, 0)},
		"another namespace":     {func(d *journal.Displacement) { d.Pod.Namespace = "b" }, "", time.Time{}},
		"another name":          {func(*journal.Displacement) {}, "p.0", time.Time{}},
		"another pod":           {func(*journal.Displacement) {}, executor.RecordEventName("p", "v"), time.Time{}},
		"no record":             {func(d *journal.Displacement) { d.Cause = "" }, "", time.Time{}},
	} {
		e := writeRecordEvent(t, "a", at, x.change)
		if x.rename != "" {
			e.Name = x.rename
		}
		rec := entryOf(t, e).rec
		if got := rec != nil; got == x.want.IsZero() || got && !rec.Time.Equal(x.want) {
			t.Errorf("%s: %+v, want one of %v", name, rec, x.want)
		}
	}
}

// Records of Berth's displacers are trusted.
func TestFromEventAcceptsDisplacerRecords(t *testing.T) {
	w := newHarness(t, 1, 0)
	w.replica()
	p := w.randomPod()
	p.Spec.NodeName = "n1"
	d := executor.Displacer{Client: w.client, Now: func() time.Time { return w.now.Add(999 * time.Millisecond) }, Component: "test"}
	if err := d.Displace(t.Context(), executor.Displacement{Pod: p, Cause: displacement.Taint, RequestedBy: "test"}); err != nil {
		t.Fatal(err)
	}
	events := w.recordsOf()[string(p.UID)]
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	if rec := FromEvent(events[0]); rec == nil || rec.Node != "n1" || !rec.Time.Equal(d.Now()) {
		t.Errorf("record %+v", rec)
	}
}

// A record with a time years ahead does not extend a Hold.
func TestHoldDurationIsBounded(t *testing.T) {
	for _, c := range []displacement.Cause{displacement.Taint, displacement.Admission} {
		b := newHoldHarness(t)
		e := entryOf(t, writeRecordEvent(t, "ns", b.at, func(d *journal.Displacement) { d.Time, d.Cause = b.at.AddDate(100, 0, 0), c.String() }))
		_ = b.controller.records.Add(e)
		b.onRecord(nil, e)
		b.step()
		h := b.one()
		if h == nil || h.Spec.Until.After(b.at.Add(b.o.Backoff.Max)) {
			t.Fatalf("%v: hold %+v", c, h)
		}
		h.Spec.Until = metav1.NewTime(b.at.AddDate(8000, 0, 0)) // created earlier, with its event deleted
		_ = b.controller.records.Delete(e)
		b.sweepHolds(t.Context())
		if requeueAfter := b.step(); b.one() != nil || requeueAfter < 0 {
			t.Errorf("%v: Hold %+v, requeued after %v", c, b.one(), requeueAfter)
		}
	}
}

// A Hold requires an owner with pods in the namespace and names it as they do, regardless of the record.
func TestHoldRequiresExistingOwner(t *testing.T) {
	b := newHoldHarness(t)
	at := ownerNode{"ns", "new", "n1"}
	e := entryOf(t, writeRecordEvent(t, "ns", b.at, func(d *journal.Displacement) { d.Owner.UID, d.Owner.Name, d.Owner.Kind = "new", "forged", "Forged" }))
	_ = b.controller.records.Add(e)
	b.onRecord(nil, e)
	reconcile := func() time.Duration {
		requeueAfter, err := b.reconcileHold(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		return requeueAfter
	}
	if requeueAfter := reconcile(); b.one() != nil || requeueAfter <= 0 {
		t.Fatalf("Hold %+v without an owner, requeued after %v", b.one(), requeueAfter)
	}
	b.replica("elsewhere", "new")
	if reconcile(); b.one() != nil {
		t.Fatalf("hold %+v of an owner in another namespace", b.one())
	}
	b.replica("ns", "new")
	reconcile()
	if h := b.one(); h == nil || h.Spec.Owner.Name != "new" || h.Spec.Owner.Kind != "ReplicaSet" || h.Spec.Owner.UID != "new" {
		t.Fatalf("hold %+v", h)
	}
	_ = b.pods.Replace(nil, "")
	if reconcile(); b.one() == nil {
		t.Error("removed during a period without pods")
	}
}

// A forged record with the UID of another pod does not affect that pod's record in the journal.
func TestRecordsAreMatchedByUID(t *testing.T) {
	w := newHarness(t, 1, 1)
	c := w.copies[0]
	now := w.now.UTC()
	forged := entryOf(t, writeRecordEvent(t, "a", w.now, func(d *journal.Displacement) {
		d.Pod.UID, d.Deleted, d.Replacement = "u1", &now, &journal.Replacement{Name: "q", Node: "n", Ready: &now, Scheduled: &now}
	}))
	w.replica()
	p := w.randomPod()
	if err := (&executor.Displacer{Client: w.client, Now: func() time.Time { return w.now }, Component: "test"}).Displace(t.Context(),
		executor.Displacement{Pod: p, Cause: displacement.Taint, RequestedBy: "test"}); err != nil {
		t.Fatal(err)
	}
	_ = c.events.Add(forged)
	c.onRecord(nil, forged)
	if _, err := c.journalRecord(t.Context(), forged.Namespace+"/"+forged.Name); err != nil {
		t.Fatal(err)
	}
	w.syncCaches(c, true)
	for _, e := range w.recordsOf()["u1"] {
		cached := entryOf(t, e)
		_ = c.events.Add(cached)
		c.onRecord(nil, cached)
	}
	c.onPod(p, nil)
	c.onRecord(forged, nil)
	if len(c.deletedAt) != 1 {
		t.Errorf("the deletion time of the pod is lost: %v", c.deletedAt)
	}
	w.processQueues(c)
	list, _, err := c.o.Journal.Read()
	if err != nil || len(list) != 2 {
		t.Errorf("the journal has %d records, %v", len(list), err)
	}
}

// After a record changes, only the new content is tracked.
func TestChangedRecordIsForgotten(t *testing.T) {
	b := newHoldHarness(t)
	first := entryOf(t, writeRecordEvent(t, "ns", b.at, func(*journal.Displacement) {}))
	second := entryOf(t, writeRecordEvent(t, "ns", b.at, func(d *journal.Displacement) { d.Owner.UID = "other" }))
	b.onRecord(nil, first)
	b.onRecord(first, second)
	if len(b.openRecords) != 1 || len(b.openRecords[second.owner()]) != 1 {
		t.Errorf("open records %v", b.openRecords)
	}
	b.onRecord(second, &entry{ObjectMeta: second.ObjectMeta})
	if len(b.openRecords) != 0 {
		t.Errorf("open records %v", b.openRecords)
	}
}

// replica adds a pod of an owner.
func (b *holdHarness) replica(namespace, owner string) {
	isController := true
	_ = b.pods.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "of-" + owner, UID: types.UID("of-" + owner),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: &isController}}}})
}
