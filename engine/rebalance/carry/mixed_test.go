package carry

import (
	"testing"

	"github.com/berthproject/berth/engine/rebalance/plan"
)

// A pod has an hour to stop, and its replacement runs: that keeps pods whose place cannot be held waiting, in later plans too, since
// its node becomes a better one when it has left, and no others.
func TestAPodThatTakesLongKeepsOnlyThoseWaitingThatCanHoldNoPlace(t *testing.T) {
	s := newTale(t, Options{}, moveIn(plan.Unheld, "their-1", 100), moveIn(plan.Unheld, "own-1", 100), move("web-1", 100))
	s.step(0, "evict their-1")
	s.done()
	s.step(1, "") // their replacement might take any place
	on := s.pod("their-2", "b", 100)
	on.Ready = false
	s.is(on)
	s.step(1, "reserve b for web-1")
	s.done()
	s.step(0, "evict web-1")
	s.done()
	on = s.pod("their-2", "b", 100)
	s.is(on)
	s.is(s.pod("web-2", "b", 100))
	s.step(1, "release b: its move is over")
	s.done()
	s.step(60, "")
	s.m.Take(s.now, &plan.Plan{Moves: []*plan.Move{moveIn(plan.Unheld, "own-1", 100), move("db-1", 100)}})
	s.is(s.pod("db-1", "a", 100))
	s.step(1, "reserve b for db-1")
	s.done()
	s.step(0, "evict db-1")
	s.done()
	s.is(s.pod("db-2", "b", 100))
	s.step(1, "release b: its move is over")
	s.done()
	s.step(60, "")
	s.gone("their-1")
	s.gone("web-1")
	s.step(1, "")
	s.gone("db-1")
	s.step(1, "evict own-1")
}

// Between the Hold and the eviction somebody else has the pod go, and what came for it is seen together with that.
func TestAReplacementThatComesBeforeTheEvictionIsKnown(t *testing.T) {
	s := newTale(t, Options{}, move("web-1", 100))
	s.step(0, "reserve b for web-1")
	s.done()
	s.gone("web-1")
	s.is(s.pod("web-2", "b", 100))
	if u := s.m.UnderWay(s.v); len(u) != 1 || u[0].Coming() {
		t.Errorf("under way is %+v", u)
	}
	s.step(1, "")
	s.step(1, "release b: its move is over")
	s.ends(`web-1 over moved ""`)
}
