package displacementrecords

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
