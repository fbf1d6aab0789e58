package placement

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

func withOwner(uid string) podOption {
	return func(p *model.Pod) { p.Owner = model.Owner{Kind: "ReplicaSet", Name: uid, UID: uid} }
}

func withPriority(priority int32) podOption {
	return spec(func(s *model.PodSpec) { s.Priority = priority })
}

func TestAvoidHold(t *testing.T) {
	s := newState(node("a"), node("b"))
	s.UpsertHold(newHold(model.Avoid, "web", "a", nil))
	rec := decide(t, s, pod("p", withOwner("web")))
	expect(t, "verdicts", verdicts(rec), "a HoldAvoid (UAU): node(s) were held off after pods of the same owner had to leave")
	expect(t, "choice", rec.Choice, "b")
	expect(t, "another owner's", verdicts(decide(t, s, pod("p", withOwner("db")))), "")
	expect(t, "nobody's", verdicts(decide(t, s, pod("p"))), "")
	s.ExpireHolds(time.Unix(1000, 0))
	expect(t, "after its end", verdicts(decide(t, s, pod("p", withOwner("web")))), "")
}

func TestReserveHoldKeepsCapacity(t *testing.T) {
	big := requests(3000, 0)
	s := newState(node("a"))
	s.UpsertHold(newHold(model.Reserve, "web", "a", pod("victim", big, withPriority(5))))
	expect(t, "a stranger", verdicts(decide(t, s, pod("p", big, withPriority(5)))), "a NodeResourcesFit (U): Insufficient cpu")
	expect(t, "a more important one", verdicts(decide(t, s, pod("p", big, withPriority(6)))), "")
	first := pod("first", big, withPriority(5), withOwner("web"))
	expect(t, "the replacement", verdicts(decide(t, s, first)), "")
	if err := s.Assume(first, "a"); err != nil {
		t.Fatal(err)
	}
	if id, _ := s.NodeID("a"); len(s.Nominated(id)) != 0 {
		t.Error("the reservation is not used up by the replacement")
	}
	expect(t, "beside it", verdicts(decide(t, s, pod("p", requests(1000, 0)))), "")
	s.Forget("first")
	expect(t, "once it is forgotten", verdicts(decide(t, s, pod("p", requests(2000, 0), withPriority(5)))), "a NodeResourcesFit (U): Insufficient cpu")
}

func createdAt(at int64) podOption { return func(p *model.Pod) { p.Created = time.Unix(at, 0) } }

func TestReplacementUsesReservedNode(t *testing.T) {
	s := newState(node("a"), node("b"), node("c"))
	for _, n := range []string{"a", "c"} { // where the scores say no
		if err := s.Assume(pod("weight-"+n, requests(2000, 0)), n); err != nil {
			t.Fatal(err)
		}
	}
	victim := pod("victim", requests(1000, 0), withPriority(5))
	s.UpsertHold(forVictim(newHold(model.Reserve, "web", "a", victim), "victim", 10))
	choice := func(what, want string, options ...podOption) {
		t.Helper()
		expect(t, what, decide(t, s, pod("p", append([]podOption{requests(1000, 0), withPriority(5)}, options...)...)).Choice, want)
	}
	choice("a stranger", "b", createdAt(10))
	choice("another owner's", "b", withOwner("db"), createdAt(10))
	choice("one that was there before", "b", withOwner("web"), createdAt(9))
	choice("the replacement", "a", withOwner("web"), createdAt(10))
	choice("one that is too big for the place", "b", withOwner("web"), createdAt(10), requests(2500, 0))
	if rec := decide(t, s, pod("p", requests(1000, 0), withOwner("web"), createdAt(10))); !rec.ReservedFirst || len(rec.Nodes) != 1 {
		t.Errorf("the held node is not taken first: %+v", rec)
	}
	if err := s.Assume(pod("big", requests(1500, 0), withPriority(6)), "a"); err != nil {
		t.Fatal(err)
	}
	choice("the replacement, outranked", "b", withOwner("web"), createdAt(10))
	s.Forget("big")
	s.UpsertHold(forVictim(newHold(model.Avoid, "web", "a", nil), "", 0))
	choice("the replacement, if its owner avoids the node", "b", withOwner("web"), createdAt(10))
	s.RemoveHold("default", cluster.HoldName("web", "a", model.Avoid))
	if err := s.Assume(pod("first", requests(1000, 0), withOwner("web"), createdAt(10)), "a"); err != nil {
		t.Fatal(err)
	}
	choice("the second one", "b", withOwner("web"), createdAt(11))
	s.Forget("first")
	s.ExpireHolds(time.Unix(1000, 0))
	choice("after the end", "b", withOwner("web"), createdAt(10))
}

func TestReservationOfStatefulSetPod(t *testing.T) {
	s := newState(node("a"), node("b"))
	if err := s.Assume(pod("weight", requests(2000, 0)), "a"); err != nil {
		t.Fatal(err)
	}
	h := forVictim(newHold(model.Reserve, "web", "a", pod("victim", requests(1000, 0))), "web-1", 10)
	h.Owner.Kind = "StatefulSet"
	s.UpsertHold(h)
	of := func(p *model.Pod) { p.Owner = model.Owner{Kind: "StatefulSet", Name: "web", UID: "web"} }
	other, namesake := pod("web-2", of, createdAt(11), requests(1000, 0)), pod("web-1", of, createdAt(12), requests(1000, 0))
	expect(t, "another pod of it", decide(t, s, other).Choice, "b")
	if err := s.Assume(other, "b"); err != nil {
		t.Fatal(err)
	}
	expect(t, "the namesake", decide(t, s, namesake).Choice, "a")
}
