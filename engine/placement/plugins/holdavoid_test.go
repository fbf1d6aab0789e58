package plugins_test

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/testkit/build"
)

func withOwner(uid string) build.PodOption {
	return func(p *model.Pod) { p.Owner = model.Owner{Kind: "ReplicaSet", Name: uid, UID: uid} }
}

func withPriority(priority int32) build.PodOption {
	return build.Spec(func(s *model.PodSpec) { s.Priority = priority })
}

func TestAvoidHold(t *testing.T) {
	s := build.NewState(build.Node("a"), build.Node("b"))
	s.UpsertHold(build.NewHold(model.Avoid, "web", "a", nil))
	rec := decide(t, s, build.Pod("p", withOwner("web")))
	build.Expect(t, "verdicts", build.Verdicts(rec), "a HoldAvoid (UAU): node(s) were avoided after displacements of the owner's pods")
	build.Expect(t, "choice", rec.Choice, "b")
	build.Expect(t, "pod of another owner", build.Verdicts(decide(t, s, build.Pod("p", withOwner("db")))), "")
	build.Expect(t, "pod without owner", build.Verdicts(decide(t, s, build.Pod("p"))), "")
	s.ExpireHolds(time.Unix(1000, 0))
	build.Expect(t, "after the Hold has ended", build.Verdicts(decide(t, s, build.Pod("p", withOwner("web")))), "")
}

func TestReserveHoldKeepsCapacity(t *testing.T) {
	big := build.Requests(3000, 0)
	s := build.NewState(build.Node("a"))
	s.UpsertHold(build.NewHold(model.Reserve, "web", "a", build.Pod("victim", big, withPriority(5))))
	build.Expect(t, "pod without owner", build.Verdicts(decide(t, s, build.Pod("p", big, withPriority(5)))), "a NodeResourcesFit (U): Insufficient cpu")
	build.Expect(t, "a pod of higher priority", build.Verdicts(decide(t, s, build.Pod("p", big, withPriority(6)))), "")
	first := build.Pod("first", big, withPriority(5), withOwner("web"))
	build.Expect(t, "the replacement", build.Verdicts(decide(t, s, first)), "")
	if err := s.Assume(first, "a"); err != nil {
		t.Fatal(err)
	}
	if id, _ := s.NodeID("a"); len(s.Nominated(id)) != 0 {
		t.Error("the placeholder is still nominated after the replacement was assumed")
	}
	build.Expect(t, "pod next to the replacement", build.Verdicts(decide(t, s, build.Pod("p", build.Requests(1000, 0)))), "")
	s.Forget("first")
	build.Expect(t, "after the replacement is forgotten", build.Verdicts(decide(t, s, build.Pod("p", build.Requests(2000, 0), withPriority(5)))), "a NodeResourcesFit (U): Insufficient cpu")
}

func createdAt(seconds int64) build.PodOption {
	return func(p *model.Pod) { p.Created = time.Unix(seconds, 0) }
}

func TestReplacementUsesReservedNode(t *testing.T) {
	s := build.NewState(build.Node("a"), build.Node("b"), build.Node("c"))
	for _, n := range []string{"a", "c"} { // without the Hold, b has the highest score
		if err := s.Assume(build.Pod("weight-"+n, build.Requests(2000, 0)), n); err != nil {
			t.Fatal(err)
		}
	}
	victim := build.Pod("victim", build.Requests(1000, 0), withPriority(5))
	s.UpsertHold(build.ForVictim(build.NewHold(model.Reserve, "web", "a", victim), "victim", 10))
	expectChoice := func(name, want string, options ...build.PodOption) {
		t.Helper()
		build.Expect(t, name, decide(t, s, build.Pod("p", append([]build.PodOption{build.Requests(1000, 0), withPriority(5)}, options...)...)).Choice, want)
	}
	expectChoice("pod without owner", "b", createdAt(10))
	expectChoice("pod of another owner", "b", withOwner("db"), createdAt(10))
	expectChoice("a pod created before the displacement", "b", withOwner("web"), createdAt(9))
	expectChoice("the replacement", "a", withOwner("web"), createdAt(10))
	expectChoice("a pod larger than the reservation", "b", withOwner("web"), createdAt(10), build.Requests(2500, 0))
	if rec := decide(t, s, build.Pod("p", build.Requests(1000, 0), withOwner("web"), createdAt(10))); !rec.ReservedFirst || len(rec.Nodes) != 1 {
		t.Errorf("record %+v, want only the reserved node", rec)
	}
	if err := s.Assume(build.Pod("big", build.Requests(1500, 0), withPriority(6)), "a"); err != nil {
		t.Fatal(err)
	}
	expectChoice("the replacement, with a pod of higher priority", "b", withOwner("web"), createdAt(10))
	s.Forget("big")
	s.UpsertHold(build.ForVictim(build.NewHold(model.Avoid, "web", "a", nil), "", 0))
	expectChoice("the replacement, if its owner avoids the node", "b", withOwner("web"), createdAt(10))
	s.RemoveHold("default", cluster.HoldName("web", "a", model.Avoid))
	if err := s.Assume(build.Pod("first", build.Requests(1000, 0), withOwner("web"), createdAt(10)), "a"); err != nil {
		t.Fatal(err)
	}
	expectChoice("the second replacement", "b", withOwner("web"), createdAt(11))
	s.Forget("first")
	s.ExpireHolds(time.Unix(1000, 0))
	expectChoice("after the Hold has ended", "b", withOwner("web"), createdAt(10))
}

func TestReservationOfStatefulSetPod(t *testing.T) {
	s := build.NewState(build.Node("a"), build.Node("b"))
	if err := s.Assume(build.Pod("weight", build.Requests(2000, 0)), "a"); err != nil {
		t.Fatal(err)
	}
	h := build.ForVictim(build.NewHold(model.Reserve, "web", "a", build.Pod("victim", build.Requests(1000, 0))), "web-1", 10)
	h.Owner.Kind = "StatefulSet"
	s.UpsertHold(h)
	owned := func(p *model.Pod) { p.Owner = model.Owner{Kind: "StatefulSet", Name: "web", UID: "web"} }
	other, sameName := build.Pod("web-2", owned, createdAt(11), build.Requests(1000, 0)), build.Pod("web-1", owned, createdAt(12), build.Requests(1000, 0))
	build.Expect(t, "another pod of the owner", decide(t, s, other).Choice, "b")
	if err := s.Assume(other, "b"); err != nil {
		t.Fatal(err)
	}
	build.Expect(t, "the pod with the victim's name", decide(t, s, sameName).Choice, "a")
}
