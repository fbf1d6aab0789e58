package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/berthproject/berth/internal/testkit"
	"github.com/berthproject/berth/sim/trace"
)

// openbLists returns the flags for the OpenB data set.
func openbLists(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("BERTH_OPENB")
	if dir == "" {
		testkit.SkipOrFail(t, "the OpenB data set", "BERTH_OPENB names no directory with openb_node_list_all_node.csv and openb_pod_list_default.csv")
	}
	return []string{"--openb-nodes", filepath.Join(dir, "openb_node_list_all_node.csv"), "--openb-pods", filepath.Join(dir, "openb_pod_list_default.csv"),
		"--timeline", "none", "-o", "json"}
}

func summaryOf(t *testing.T, args ...string) trace.Summary {
	t.Helper()
	out, err := runSimulate(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Summary trace.Summary }
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	return got.Summary
}

// TestSimulateOpenBDay checks that every pod of the day with most arrivals is placed at once.
func TestSimulateOpenBDay(t *testing.T) {
	s := summaryOf(t, openbLists(t)...)
	if s.Created < 678 || s.Placed != s.Created || s.Pending != 0 || s.LatencyP99 > 1 {
		t.Errorf("got %d pods created, %d placed, %d pending, p99 of the latency %g s, want at least 678 created, all of them placed, and at most 1 s", s.Created, s.Placed, s.Pending, s.LatencyP99)
	}
}

// TestSimulateOpenBOverload requests 7,433 GPUs of 6,212, the last of them at 82 s. It checks that LS pods are placed
// first and that the cluster settles.
func TestSimulateOpenBOverload(t *testing.T) {
	s := summaryOf(t, append(openbLists(t), "--openb-fill", "--openb-priorities")...)
	if len(s.Priorities) != 3 || s.Priorities[0].Priority != 1000 || s.Priorities[0].Pending > 10 || s.Priorities[2].Pending < 900 {
		t.Errorf("by priority: got %+v, want LS placed and BE pending", s.Priorities)
	}
	if s.Victims == 0 || s.Victims != s.Deleted || s.LastVictim > 120 {
		t.Errorf("got %d victims, %d pods deleted, the last eviction at %g s, want victims, no other deletions, and at most 120 s", s.Victims, s.Deleted, s.LastVictim)
	}
	t.Logf("%d victims of %d preemptors, %d cascades, chains of up to %d, steady at %.1f s", s.Victims, s.Preemptors, s.Cascades, s.CascadeDepth, max(s.LastBound, s.LastVictim))
}
