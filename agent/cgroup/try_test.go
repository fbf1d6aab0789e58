package cgroup_test

import (
	"sync"
	"testing"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/internal/testkit"
)

// TestTrialsTogether: trials of one process do not take their cgroup from each other.
func TestTrialsTogether(t *testing.T) {
	h, err := cgroup.Find()
	if err != nil {
		testkit.Skip(t, "cgroups", err.Error())
	}
	if err := h.Try(); err != nil {
		testkit.Skip(t, "cgroups", err.Error())
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if err := h.Try(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
