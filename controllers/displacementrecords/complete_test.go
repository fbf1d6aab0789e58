package displacementrecords

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/controllers/runner/runnertest"
	"github.com/berthproject/berth/internal/journal"
)

// TestRecordIsCompletedAfterChangeOfOwner checks that the end of a pod that was adopted or released after it was recorded
// leads to the completion of its record.
func TestRecordIsCompletedAfterChangeOfOwner(t *testing.T) {
	isController := true
	owners := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs", Controller: &isController}}
	for name, x := range map[string]struct {
		change func(*journal.Displacement)
		owners []metav1.OwnerReference
	}{
		"adopted":  {func(d *journal.Displacement) { d.Owner = nil }, owners},
		"released": {func(*journal.Displacement) {}, nil},
	} {
		queues := &runnertest.Queues{}
		k := newController(runnertest.NewProcess(queues), Options{})
		record := entryOf(t, newRecordEvent(t, "ns", time.Now(), x.change))
		k.onRecord(nil, record)
		queues.Take()
		k.onPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u", OwnerReferences: x.owners}}, nil)
		if keys := queues.Take(); !slices.Contains(keys, any(record.owner())) {
			t.Errorf("%s: enqueued %v, want %v", name, keys, record.owner())
		}
		if k.deletedAt[record.rec.Pod.ID()].IsZero() {
			t.Errorf("%s: deletion times %v, want one of the pod", name, k.deletedAt)
		}
		k.onRecord(record, nil)
		if len(k.openOwners) != 0 || len(k.deletedAt) != 0 {
			t.Errorf("%s: after the deletion of the event open owners %v and deletion times %v, want none", name, k.openOwners, k.deletedAt)
		}
	}
}

// TestRemovedRecordIsNotJournaled checks that an event whose record was removed is not written to the journal.
func TestRemovedRecordIsNotJournaled(t *testing.T) {
	c := newHarness(t, 1, 1).instances[0]
	_ = c.events.Add(&entry{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "e"}})
	if _, err := c.journalRecord(t.Context(), "ns/e"); err != nil {
		t.Error(err)
	}
	if list, _, err := c.o.Journal.Read(); err != nil || len(list) != 0 {
		t.Errorf("the journal has %d records, error %v, want none", len(list), err)
	}
}
