package carry

import (
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/rebalance/plan"
)

func TestAPodThatComesBackIsRemembered(t *testing.T) {
	for _, mode := range []plan.Mode{plan.Held, plan.Unheld} {
		s := begun(t, mode)
		s.is(s.pod("web-2", "a", 1000))
		want := "avoid a 1 10m0s"
		if mode == plan.Held {
			want = "release b: its move is over"
		}
		s.step(1, want)
		s.done()
		s.ends(`web-1 over returned "x/web-2, which came for x/web-1, was put back on a"`)
		again := moveIn(mode, "web-2", 1000)
		s.m.Take(s.now, &plan.Plan{Moves: []*plan.Move{again}})
		s.gone("web-1")
		s.step(60, "")
		if x := s.m.Moves()[0]; x.Outcome != GivenUp || !strings.Contains(x.Why, "was put back on a; not tried again until") {
			t.Errorf("it is moved again: %s", s.state())
		}
	}
}

// Whose replacement is missing, or does not become Ready, loses no other pod to the next plan either.
func TestAWorkloadThatFailsIsLeftAlone(t *testing.T) {
	for _, made := range []bool{true, false} {
		s := begun(t, plan.Unheld)
		s.gone("web-1")
		if made {
			on := s.pod("web-2", "b", 1000)
			on.Ready = false
			s.is(on)
		}
		s.step(1, "")
		s.step(301, "")
		s.is(s.pod("web-3", "a", 1000))
		s.is(s.pod("more", "a", 1500)) // so that b is better
		s.m.Take(s.now, &plan.Plan{Moves: []*plan.Move{moveIn(plan.Unheld, "web-3", 1000)}})
		s.step(1, "")
		if x := s.m.Moves()[0]; x.Outcome != GivenUp || !strings.Contains(x.Why, "x/web-1 was moved: ") {
			t.Errorf("replaced %t: %s", made, s.state())
		}
		s.m.Take(s.now, &plan.Plan{Moves: []*plan.Move{moveIn(plan.Unheld, "web-3", 1000)}})
		s.step(600, "evict web-3")
	}
}

// An Avoid Hold of ours goes when what it says does not count any more, as there may be nobody else to delete it; others' stay.
func TestAvoidHoldsEnd(t *testing.T) {
	s := newTale(t, Options{})
	for _, cause := range []string{plan.Cause, "Pressure"} {
		s.v.State.UpsertHold(&model.Hold{Namespace: "x", Name: "avoid-" + cause, Type: model.Avoid, Node: "a", Cause: cause, Until: s.now.Add(time.Minute),
			Owner: model.Owner{Kind: "ReplicaSet", Name: "web", UID: cause}})
	}
	s.step(60, "")
	s.step(24*60*60-1, "")
	s.step(1, "release a: its time is over")
}

// Who runs once every few minutes knows from the Hold how often a move was in vain, also when the node has thrown a pod out since.
func TestANewProcessKnowsHowOftenAMoveWasInVain(t *testing.T) {
	for ago, want := range map[time.Duration]string{time.Hour: "avoid a 4 1h20m0s", 25 * time.Hour: "avoid a 1 10m0s"} {
		s := newTale(t, Options{}, moveIn(plan.Unheld, "web-1", 1000))
		s.v.State.UpsertHold(&model.Hold{Namespace: "x", Name: plan.VainHold("web", "a"), Type: model.Avoid, Node: "a", Cause: plan.Cause, Count: 3,
			Until: s.now.Add(-ago), Owner: model.Owner{Kind: "ReplicaSet", Name: "web", UID: "web"}})
		s.v.State.UpsertHold(&model.Hold{Namespace: "x", Name: cluster.HoldName("web", "a", model.Avoid), Type: model.Avoid, Node: "a", Cause: "Pressure", Count: 1,
			Until: s.now.Add(time.Minute), Owner: model.Owner{Kind: "ReplicaSet", Name: "web", UID: "web"}})
		if ago > 24*time.Hour {
			s.step(0, "release a: its time is over, evict web-1")
		} else {
			s.step(0, "evict web-1")
		}
		s.done()
		s.is(s.pod("web-2", "a", 1000))
		s.step(1, want)
	}
}
