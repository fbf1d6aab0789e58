package placement

import (
	"fmt"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

func withOwner(uid string) podOption {
	return func(p *model.Pod) { p.Owner = model.Owner{Kind: "ReplicaSet", Name: uid, UID: uid} }
}

func withPriority(priority int32) podOption {
	return spec(func(s *model.PodSpec) { s.Priority = priority })
}

// newHold is a hold of an owner; a Reserve has the shape of like.
func newHold(t model.HoldType, owner, node string, like *model.Pod) *model.Hold {
	h := &model.Hold{Namespace: "default", Name: cluster.HoldName(owner, node, t), Type: t, Owner: model.Owner{UID: owner}, Node: node,
		Cause: "pressure", Count: 2, Until: time.Unix(1000, 0)}
	if like != nil {
		h.Placeholder = &model.Pod{Namespace: "default", Name: h.Name, UID: "hold/" + h.Key(), Owner: h.Owner, NominatedNodeName: node, Placeholder: true, Spec: like.Spec}
	}
	return h
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

// forVictim makes a hold one of a victim of a name, from a time on.
func forVictim(h *model.Hold, victim string, created int64) *model.Hold {
	h.Victim, h.VictimName, h.Created = "uid of "+victim, victim, time.Unix(created, 0)
	return h
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

// hold puts a random hold into the arena, or takes one out.
func (ar *fuzzCluster) hold() {
	t := model.HoldType(ar.IntN(2))
	owner, node := ar.pick("web", "db"), fmt.Sprint("node", ar.IntN(ar.nodes))
	ns := ar.pick("x", "x", "y")
	h := newHold(t, owner, node, nil)
	h.Namespace = ns
	if t == model.Reserve {
		h.Placeholder = &model.Pod{Namespace: ns, Name: h.Name, UID: "hold/" + h.Key(), Owner: h.Owner, NominatedNodeName: node, Placeholder: true,
			Spec: ar.specs[ar.IntN(len(ar.specs))]}
		forVictim(h, fmt.Sprint("p", ar.serial+ar.IntN(4)), int64(ar.serial-ar.IntN(4)))
		h.Owner.Kind = ar.pick("", "", "StatefulSet")
	}
	if ar.one(3) {
		ar.state.RemoveHold(ns, h.Name)
		return
	}
	h.Until = time.Unix(int64(ar.IntN(100)), 0)
	ar.state.UpsertHold(h)
	if ar.one(20) {
		ar.state.ExpireHolds(time.Unix(int64(ar.IntN(60)), 0))
	}
}

// TestFastPathEqualsReferenceWithHolds compares the two where nodes are held for and
// against owners all the time.
func TestFastPathEqualsReferenceWithHolds(t *testing.T) {
	applies, viewed, avoided, first := 0, 0, 0, 0
	for seed := range uint64(soakRounds(60)) {
		ar := newFuzzCluster(t, seed+1<<34)
		if seed%2 == 0 { // more for the fast path
			for i, s := range ar.specs {
				c := *s
				c.Affinity, c.AntiAffinity, c.Spread = nil, nil, nil
				ar.specs[i] = &c
			}
			for len(ar.placed) > 0 {
				ar.removePod()
			}
		}
		for range 200 {
			if ar.one(4) {
				ar.hold()
			}
			p := ar.pod()
			if p.Owner.UID = ar.pick("web", "db", "none"); ar.one(3) {
				p.Owner = model.Owner{}
			}
			p.Created = time.Unix(int64(ar.serial-ar.IntN(2)), 0)
			rec := Evaluate(ar.state, ar.engine.profile, ar.engine.seed, p)
			if rec.UnschedulablePlugins.Has(decision.HoldAvoid) {
				avoided++
			}
			if rec.ReservedFirst {
				first++
			}
			if choice := ar.compare(p); choice != "" && ar.one(2) {
				ar.place(p, choice)
			}
			ar.step()
		}
		applies, viewed = applies+ar.asked, viewed+ar.engine.counters.Cached
	}
	t.Logf("soak: %d decisions beside holds, %d by views, in %d a hold kept the pod off, in %d it took a held node", applies, viewed, avoided, first)
	if viewed < applies/8 || avoided < applies/20 || first < applies/200 {
		t.Errorf("the comparison lost its grip: %d decisions, %d by views, %d avoided, %d held", applies, viewed, avoided, first)
	}
}
