package displacementrecords

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An event that lost its record while the journal could not be written has no line.
func TestDeletedRecordIsNotJournaled(t *testing.T) {
	c := newHarness(t, 1, 1).copies[0]
	_ = c.events.Add(&entry{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "e"}})
	if _, err := c.journalRecord(t.Context(), "ns/e"); err != nil {
		t.Error(err)
	}
}
