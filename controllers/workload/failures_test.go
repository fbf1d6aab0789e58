package workload

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/workload"
)

// TestFailuresOnDeletedNodesExpire covers the slots of deleted nodes, which are not queried any more.
func TestFailuresOnDeletedNodesExpire(t *testing.T) {
	d, now := NewFailureTracker(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 1000 {
		now = now.Add(time.Minute)
		d.Add("ds", fmt.Sprint("n", i), types.UID(fmt.Sprint("p", i)), workload.PodFailure{FailedAt: now})
	}
	if n := int(failureRetention/time.Minute) + 1; len(d.bySlot) != n {
		t.Errorf("%d slots, want those of an hour, %d", len(d.bySlot), n)
	}
	if got := d.List("ds", "n999", now); len(got) != 1 {
		t.Errorf("failures of the last slot: %v", got)
	}
	if got := d.List("ds", "n999", now.Add(2*failureRetention)); len(got) != 0 {
		t.Errorf("two hours later: %v", got)
	}
}
