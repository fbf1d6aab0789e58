package workload

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/workload"
)

// TestFailuresOnDeletedNodesExpire checks that failures expire in the slots of deleted nodes, which are no longer
// queried.
func TestFailuresOnDeletedNodesExpire(t *testing.T) {
	tracker, now := NewFailureTracker(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 1000 {
		now = now.Add(time.Minute)
		tracker.Add("ds", fmt.Sprint("n", i), types.UID(fmt.Sprint("p", i)), workload.PodFailure{FailedAt: now})
	}
	if n := int(failureRetention/time.Minute) + 1; len(tracker.bySlot) != n {
		t.Errorf("%d slots, want the %d of the last hour", len(tracker.bySlot), n)
	}
	if got := tracker.List("ds", "n999", now); len(got) != 1 {
		t.Errorf("failures of the last slot %v, want one", got)
	}
	if got := tracker.List("ds", "n999", now.Add(2*failureRetention)); len(got) != 0 {
		t.Errorf("failures two hours later %v, want none", got)
	}
}
