package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// reserve returns a Hold that reserves a node for an owner. It is created at the given time in seconds and expires
// 60 s later.
func reserve(owner, node string, created int64) *model.Hold {
	h := &model.Hold{Namespace: "x", Name: HoldName(owner, node, model.Reserve), Owner: model.Owner{UID: owner}, Node: node, Victim: "victim",
		Created: time.Unix(created, 0), Until: time.Unix(created+60, 0)}
	h.Placeholder = &model.Pod{Namespace: "x", Name: h.Name, UID: h.Key(), Owner: h.Owner, NominatedNodeName: node, Placeholder: true, Spec: &model.PodSpec{}}
	return h
}

func ownedPod(uid, owner, node string, created int64) *model.Pod {
	return &model.Pod{Namespace: "x", Name: uid, UID: uid, Owner: model.Owner{UID: owner}, NodeName: node, Created: time.Unix(created, 0), Spec: &model.PodSpec{}}
}

// reserved returns the reservations as NODE:OWNER, in the order of node IDs.
func reserved(s *State) string {
	var out []string
	for _, id := range s.NodeIDs() {
		for _, p := range s.Nominated(id) {
			if p.Placeholder {
				out = append(out, s.Node(id).Model.Name+":"+p.Owner.UID)
			}
		}
	}
	return strings.Join(out, " ")
}

func TestFirstReplacementUsesReservation(t *testing.T) {
	s := New()
	s.UpsertNode(&model.Node{Name: "a"})
	s.UpsertNode(&model.Node{Name: "b"})
	s.UpsertPod(ownedPod("victim", "o", "b", 1))
	s.UpsertPod(ownedPod("old", "o", "b", 9))
	s.UpsertHold(reserve("o", "a", 10))
	s.UpsertHold(reserve("o", "b", 10))
	expect := func(when, want string) {
		t.Helper()
		if got := reserved(s); got != want {
			t.Errorf("%s: %q is reserved, want %q", when, got, want)
		}
	}
	expect("before the victim terminated", "a:o b:o")
	s.UpsertPod(ownedPod("new", "o", "b", 10))
	expect("with a replacement on b", "a:o")
	s.UpsertPod(ownedPod("other", "p", "a", 10))
	expect("next to a pod of another owner", "a:o")
	s.RemovePod("new")
	expect("after the replacement was deleted", "a:o b:o")
	s.UpsertPod(ownedPod("new2", "o", "c", 12))
	if strings.Count(reserved(s), ":") != 1 {
		t.Errorf("with a replacement on another node: %q is reserved, want one node", reserved(s))
	}
	if got := len(s.TakeReleased()); got == 0 {
		t.Error("TakeReleased returned no placeholder, want at least one")
	}
	s.RemovePod("new2")
	if at, ok := s.NextHoldExpiry(); !ok || !at.Equal(time.Unix(70, 0)) {
		t.Errorf("NextHoldExpiry() = %v, %t, want 70 s", at, ok)
	}
	if expired := s.ExpireHolds(time.Unix(69, 0)); len(expired) != 0 {
		t.Errorf("after 69 s %d Holds expired, want none", len(expired))
	}
	if expired := s.ExpireHolds(time.Unix(70, 0)); len(expired) != 2 || reserved(s) != "" {
		t.Errorf("after 70 s %d expired and %q is reserved, want 2 and none", len(expired), reserved(s))
	}
	if at, ok := s.NextHoldExpiry(); ok || len(s.HoldsOf("x", "o")) != 0 {
		t.Errorf("after all Holds expired: NextHoldExpiry() = %v, %t, and %d Holds remain; want false and none", at, ok, len(s.HoldsOf("x", "o")))
	}
}

// TestHoldsEqualRecount checks that reservations are a function of Holds and pods,
// independent of their order, and that forks are independent.
func TestHoldsEqualRecount(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := New()
		for _, n := range []string{"a", "b", "c"} {
			s.UpsertNode(&model.Node{Name: n})
		}
		pick := func(list ...string) string { return list[r.IntN(len(list))] }
		pods, holds := map[string]*model.Pod{}, map[string]*model.Hold{}
		for range 60 {
			switch r.IntN(6) {
			case 0, 1:
				p := ownedPod(fmt.Sprint("p", r.IntN(8)), pick("o", "q"), pick("a", "b", "c", "d"), int64(r.IntN(20)))
				pods[p.UID] = p
				s.UpsertPod(p)
			case 2:
				uid := fmt.Sprint("p", r.IntN(8))
				delete(pods, uid)
				s.RemovePod(uid)
			case 3, 4:
				h := reserve(pick("o", "q"), pick("a", "b", "c"), int64(r.IntN(20)))
				holds[h.Key()] = h
				s.UpsertHold(h)
			case 5:
				h := reserve(pick("o", "q"), pick("a", "b", "c"), 0)
				delete(holds, h.Key())
				s.RemoveHold(h.Namespace, h.Name)
			}
			fork, before := s.Fork(), reserved(s)
			fork.RemoveHold("x", HoldName("o", "a", model.Reserve))
			fork.UpsertPod(ownedPod("f", "q", "a", 30))
			if after := reserved(s); after != before {
				t.Fatalf("seed %d: a fork changed %q to %q, want no change", seed, before, after)
			}
		}
		rebuilt := New()
		for _, k := range slices.Sorted(maps.Keys(holds)) {
			rebuilt.UpsertHold(holds[k])
		}
		for _, p := range pods {
			rebuilt.UpsertPod(p)
		}
		for _, n := range []string{"c", "b", "a"} {
			rebuilt.UpsertNode(&model.Node{Name: n})
		}
		if got, want := reserved(s), reserved(rebuilt); got != want {
			t.Fatalf("seed %d: %q is reserved, want %q", seed, got, want)
		}
	}
}
