package recording

import (
	"context"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/engine/scheduling"
)

// TestObservations checks that a state has the last observations of its time, also in a segment that starts with a
// snapshot. They end with their object, and a replay ignores them.
func TestObservations(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, Options{})
	pod := &model.Pod{Namespace: "shop", Name: "web", UID: "u1", Spec: c.spec}
	status := func(ready nodelifecycle.Status) *NodeStatus {
		return &NodeStatus{nodelifecycle.Node{Name: "n1", UID: "n1", Zone: "r/a", Conditions: []nodelifecycle.Condition{{Type: nodelifecycle.Ready, Status: ready, Transition: start}}}}
	}
	details := func(restarts int32) *PodDetails {
		return &PodDetails{UID: "u1", Details: descheduling.PodDetails{Containers: []descheduling.Container{{Name: "c", Restarts: restarts}}}}
	}
	c.r.Observe(c.now, status(nodelifecycle.True))
	c.r.Observe(c.now, details(1))
	c.r.Observe(c.now, &HoldSupport{Honored: true})
	c.step(pod)
	c.r.Observe(c.now, &NodePressure{Node: "n1", Report: "{}"})
	c.r.Observe(c.now, &NodePressure{Node: "n9", Report: "{}"}) // does not exist
	c.r.Flush()
	first := c.now
	c.now = c.now.Add(10 * time.Second)
	c.r.Observe(c.now, status(nodelifecycle.Unknown))
	c.r.Observe(c.now, details(2))
	c.r.w.endSegment(false) // the next segment starts with a snapshot
	c.r.Flush()
	c.now = c.now.Add(time.Second)
	c.step()
	c.r.Flush()
	second := c.now
	c.now = c.now.Add(10 * time.Second)
	c.step(scheduling.Remove{Object: pod}, scheduling.Remove{Object: node("n1")})
	if err := c.r.Close(); err != nil {
		t.Fatal(err)
	}
	segments, err := Segments(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		at       time.Time
		ready    nodelifecycle.Status
		restarts int32
	}{{first.Add(5 * time.Second), nodelifecycle.True, 1}, {second.Add(5 * time.Second), nodelifecycle.Unknown, 2}} {
		s, err := StateAt(segments, tc.at)
		if err != nil {
			t.Fatal(err)
		}
		if n := s.NodeStatus("n1"); n == nil || n.Zone != "r/a" || n.Conditions[0].Status != tc.ready {
			t.Errorf("%v: got status %v, want %v", tc.at, n, tc.ready)
		}
		if d := s.Details("u1"); d == nil || d.Containers[0].Restarts != tc.restarts {
			t.Errorf("%v: got details %v, want %d restarts", tc.at, d, tc.restarts)
		}
		if honored, ok := s.HoldsHonored(); !honored || !ok || s.NodePressure("n1") != "{}" {
			t.Errorf("%v: got Holds honored %v, %v and report %q, want true, true and {}", tc.at, honored, ok, s.NodePressure("n1"))
		}
	}
	s, err := StateAt(segments, c.now)
	if err != nil {
		t.Fatal(err)
	}
	if s.NodeStatus("n1") != nil || s.NodePressure("n9") != "" || s.Details("u1") != nil || s.NodePressure("n1") != "" {
		t.Errorf("observations of deleted objects remain: %v %v %q", s.NodeStatus("n1"), s.Details("u1"), s.NodePressure("n1"))
	}
	if segments[0].Header.Start != start || len(segments) != 2 {
		t.Errorf("got %d segments, the first from %v, want 2 from %v: observations start no segment", len(segments), segments[0].Header.Start, start)
	}
	result, err := Replay(context.Background(), segments, newMachine)
	if err != nil || result.Difference != nil || result.Incomplete != "" || result.Steps == 0 {
		t.Errorf("replay: got %+v, %v, want all steps equal", result, err)
	}
}

// TestEqualObservationsAreWrittenOnce checks that an observation that equals the previous one needs no space.
func TestEqualObservationsAreWrittenOnce(t *testing.T) {
	c := newCluster(t, t.TempDir(), Options{})
	c.r.Observe(c.now, &NodePressure{Node: "n1", Report: "{}"})
	c.r.Flush()
	before := c.r.Stats()
	for range 3 {
		c.r.Observe(c.now, &NodePressure{Node: "n1", Report: "{}"})
		c.r.Flush()
	}
	if after := c.r.Stats(); after != before {
		t.Errorf("got %+v, want %+v", after, before)
	}
	c.r.Observe(c.now, &NodePressure{Node: "n1", Report: "[]"})
	c.r.Flush()
	if after := c.r.Stats(); after.Bytes <= before.Bytes || after.Steps != before.Steps {
		t.Errorf("after a change: got %+v, want more bytes than %+v and as many steps", after, before)
	}
}

// TestObservationsBeforeStart checks that observations before Start are ignored.
func TestObservationsBeforeStart(t *testing.T) {
	dir := t.TempDir()
	r, err := Open(dir, Options{Writer: "up"})
	if err != nil {
		t.Fatal(err)
	}
	r.Observe(start, &HoldSupport{Honored: true})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if segments, err := Segments(dir); err != nil || len(segments) != 0 {
		t.Errorf("got segments %v, %v, want none", segments, err)
	}
}
