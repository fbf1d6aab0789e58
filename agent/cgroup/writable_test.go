package cgroup_test

import (
	"sync"
	"testing"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/internal/testkit"
)

// TestConcurrentWritableChecks checks that concurrent calls of CheckWritable in one process succeed:
// they use different cgroups.
func TestConcurrentWritableChecks(t *testing.T) {
	h, err := cgroup.Detect()
	if err != nil {
		testkit.SkipOrFail(t, "cgroups", err.Error())
	}
	if err := h.CheckWritable(); err != nil {
		testkit.SkipOrFail(t, "cgroups", err.Error())
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if err := h.CheckWritable(); err != nil {
					t.Errorf("CheckWritable: %v, want no error", err)
				}
			}
		})
	}
	wg.Wait()
}
