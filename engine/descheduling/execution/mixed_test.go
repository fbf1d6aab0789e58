package execution

import (
	"testing"

	"github.com/berthproject/berth/engine/descheduling/planning"
)

// A pod has an hour to stop, and its replacement runs: that keeps pods whose place cannot be held waiting, in later plans too, since
// its node becomes a better one when it has left, and no others.
func TestSlowTerminationBlocksOnlyMovesWithoutHolds(t *testing.T) {
	s := newTestMachine(t, Options{}, moveIn(planning.WithoutHolds, "their-1", 100), moveIn(planning.WithoutHolds, "own-1", 100), move("web-1", 100))
	s.step(0, "evict their-1")
	s.completeAll()
	s.step(1, "") // their replacement might take any place
	on := s.pod("their-2", "b", 100)
	on.Ready = false
	s.setPod(on)
	s.step(1, "reserve b for web-1")
	s.completeAll()
	s.step(0, "evict web-1")
	s.completeAll()
	on = s.pod("their-2", "b", 100)
	s.setPod(on)
	s.setPod(s.pod("web-2", "b", 100))
	s.step(1, "release b: its move has finished")
	s.completeAll()
	s.step(60, "")
	s.m.SetPlan(s.now, &planning.Plan{Moves: []*planning.Move{moveIn(planning.WithoutHolds, "own-1", 100), move("db-1", 100)}})
	s.setPod(s.pod("db-1", "a", 100))
	s.step(1, "reserve b for db-1")
	s.completeAll()
	s.step(0, "evict db-1")
	s.completeAll()
	s.setPod(s.pod("db-2", "b", 100))
	s.step(1, "release b: its move has finished")
	s.completeAll()
	s.step(60, "")
	s.removePod("their-1")
	s.removePod("web-1")
	s.step(1, "")
	s.removePod("db-1")
	s.step(1, "evict own-1")
}

// Between the Hold and the eviction another client has the pod go, and what came for it is seen together with that.
func TestReplacementBeforeEvictionResult(t *testing.T) {
	s := newTestMachine(t, Options{}, move("web-1", 100))
	s.step(0, "reserve b for web-1")
	s.completeAll()
	s.removePod("web-1")
	s.setPod(s.pod("web-2", "b", 100))
	if u := s.m.InProgress(s.v); len(u) != 1 || u[0].AwaitsReplacement() {
		t.Errorf("under way is %+v", u)
	}
	s.step(1, "")
	s.step(1, "release b: its move has finished")
	s.expectOutcome(`web-1 over moved ""`)
}
