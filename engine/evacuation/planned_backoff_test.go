package evacuation

import (
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

func TestReturnedPodBacksOff(t *testing.T) {
	for _, mode := range []planning.Mode{planning.WithHolds, planning.WithoutHolds} {
		s := startMove(t, mode)
		s.setPod(s.pod("web-2", "a", 1000))
		want := "avoid a 1 10m0s"
		if mode == planning.WithHolds {
			want = "release b: its move has finished"
		}
		s.step(1, want)
		s.completeAll()
		s.expectOutcome(`web-1 finished returned "x/web-2, the replacement of x/web-1, was scheduled to a again"`)
		second := moveIn(mode, "web-2", 1000)
		s.m.SetPlan(s.now, &planning.Plan{Moves: []*planning.Move{second}})
		s.removePod("web-1")
		s.step(60, "")
		if x := s.m.Moves()[0]; x.Outcome != Abandoned || !strings.Contains(x.Reason, "was scheduled to a again; backing off until") {
			t.Errorf("mode %s: got %s, want an abandoned move", mode, s.state())
		}
	}
}

// TestFailedWorkloadBacksOff checks that a workload whose replacement is missing or does not
// become Ready loses no other pod in the next plan either.
func TestFailedWorkloadBacksOff(t *testing.T) {
	for _, replaced := range []bool{true, false} {
		s := startMove(t, planning.WithoutHolds)
		s.removePod("web-1")
		if replaced {
			replacement := s.pod("web-2", "b", 1000)
			replacement.Ready = false
			s.setPod(replacement)
		}
		s.step(1, "")
		s.step(301, "")
		s.setPod(s.pod("web-3", "a", 1000))
		s.setPod(s.pod("more", "a", 1500)) // makes b the better node
		s.m.SetPlan(s.now, &planning.Plan{Moves: []*planning.Move{moveIn(planning.WithoutHolds, "web-3", 1000)}})
		s.step(1, "")
		if x := s.m.Moves()[0]; x.Outcome != Abandoned || !strings.Contains(x.Reason, "x/web-1 was moved: ") {
			t.Errorf("replaced %t: got %s, want an abandoned move", replaced, s.state())
		}
		s.m.SetPlan(s.now, &planning.Plan{Moves: []*planning.Move{moveIn(planning.WithoutHolds, "web-3", 1000)}})
		s.step(600, "evict web-3")
	}
}

// TestAvoidHoldsAreReleased checks that the machine deletes its own Avoid Holds once their failure count no longer
// matters, because no other component may delete them. The previous release created them with the cause Rebalance. The
// machine keeps the Holds of other components.
func TestAvoidHoldsAreReleased(t *testing.T) {
	s := newTestMachine(t, PlanOptions{})
	for _, cause := range []string{planning.HoldCause, "Rebalance", "Pressure"} {
		s.v.State.UpsertHold(&model.Hold{Namespace: "x", Name: "avoid-" + cause, Type: model.Avoid, Node: "a", Cause: cause, Until: s.now.Add(time.Minute),
			Owner: model.Owner{Kind: "ReplicaSet", Name: "web", UID: cause}})
	}
	s.step(60, "")
	s.step(24*60*60-1, "")
	s.step(1, "release a: it has expired, release a: it has expired")
}

// TestBackoffIsRestoredFromAvoidHolds checks that a descheduler that runs as a CronJob restores the failure count of a
// move from the Hold. It does so even if the node has evicted a pod since.
func TestBackoffIsRestoredFromAvoidHolds(t *testing.T) {
	for age, want := range map[time.Duration]string{time.Hour: "avoid a 4 1h20m0s", 25 * time.Hour: "avoid a 1 10m0s"} {
		s := newTestMachine(t, PlanOptions{}, moveIn(planning.WithoutHolds, "web-1", 1000))
		s.v.State.UpsertHold(&model.Hold{Namespace: "x", Name: planning.AvoidHoldName("web", "a"), Type: model.Avoid, Node: "a", Cause: planning.HoldCause, Count: 3,
			Until: s.now.Add(-age), Owner: model.Owner{Kind: "ReplicaSet", Name: "web", UID: "web"}})
		s.v.State.UpsertHold(&model.Hold{Namespace: "x", Name: cluster.HoldName("web", "a", model.Avoid), Type: model.Avoid, Node: "a", Cause: "Pressure", Count: 1,
			Until: s.now.Add(time.Minute), Owner: model.Owner{Kind: "ReplicaSet", Name: "web", UID: "web"}})
		if age > 24*time.Hour {
			s.step(0, "release a: it has expired, evict web-1")
		} else {
			s.step(0, "evict web-1")
		}
		s.completeAll()
		s.setPod(s.pod("web-2", "a", 1000))
		s.step(1, want)
	}
}
