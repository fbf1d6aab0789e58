package evacuation

import (
	"testing"

	"github.com/berthproject/berth/engine/descheduling/planning"
)

// TestSlowTerminationBlocksOnlyMovesWithoutHolds checks that a pod with an hour of grace delays moves without a Hold,
// also in later plans. Its node becomes a better one when it has terminated. It does not delay moves with a Hold.
func TestSlowTerminationBlocksOnlyMovesWithoutHolds(t *testing.T) {
	s := newTestMachine(t, PlanOptions{}, moveIn(planning.WithoutHolds, "other-1", 100), moveIn(planning.WithoutHolds, "batch-1", 100), move("web-1", 100))
	s.step(0, "evict other-1")
	s.completeAll()
	s.step(1, "") // the replacement of other-1 may use any node
	replacement := s.pod("other-2", "b", 100)
	replacement.Ready = false
	s.setPod(replacement)
	s.step(1, "reserve b for web-1")
	s.completeAll()
	s.step(0, "evict web-1")
	s.completeAll()
	replacement = s.pod("other-2", "b", 100)
	s.setPod(replacement)
	s.setPod(s.pod("web-2", "b", 100))
	s.step(1, "release b: its move has finished")
	s.completeAll()
	s.step(60, "")
	s.m.SetPlan(s.now, &planning.Plan{Moves: []*planning.Move{moveIn(planning.WithoutHolds, "batch-1", 100), move("db-1", 100)}})
	s.setPod(s.pod("db-1", "a", 100))
	s.step(1, "reserve b for db-1")
	s.completeAll()
	s.step(0, "evict db-1")
	s.completeAll()
	s.setPod(s.pod("db-2", "b", 100))
	s.step(1, "release b: its move has finished")
	s.completeAll()
	s.step(60, "")
	s.removePod("other-1")
	s.removePod("web-1")
	s.step(1, "")
	s.removePod("db-1")
	s.step(1, "evict batch-1")
}

// TestReplacementBeforeEvictionResult checks a move whose pod another client evicts after the Hold is created. The
// cluster state has the replacement before the result of the eviction arrives.
func TestReplacementBeforeEvictionResult(t *testing.T) {
	s := newTestMachine(t, PlanOptions{}, move("web-1", 100))
	s.step(0, "reserve b for web-1")
	s.completeAll()
	s.removePod("web-1")
	s.setPod(s.pod("web-2", "b", 100))
	if u := s.m.InProgress(); len(u) != 1 || u[0].AwaitsReplacement() {
		t.Errorf("moves in progress %+v, want one with a scheduled replacement", u)
	}
	s.step(1, "release b: its move has finished")
	s.expectOutcome(`web-1 finished moved ""`)
}
