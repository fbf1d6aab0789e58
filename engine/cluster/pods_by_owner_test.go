package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/berthproject/berth/engine/model"
)

// podsOfOwner finds the UIDs of an owner's assigned and pending pods among all pods.
func podsOfOwner(s *State, namespace, owner string) (assigned, pending []string) {
	for _, uid := range s.pods.keys() {
		e, _ := s.pods.get(uid)
		switch p := s.Pod(uid); {
		case p.Owner.UID != owner || p.Namespace != namespace:
		case e.counted != nil:
			assigned = append(assigned, uid)
		case !p.Finished():
			pending = append(pending, uid)
		}
	}
	return assigned, pending
}

func uids(pods []*model.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.UID)
	}
	return out
}

// TestPodsByOwner compares the index by owner with a search of all pods, also in forks.
func TestPodsByOwner(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := New()
		s.UpsertNode(&model.Node{Name: "a"})
		owners := []string{"o", "q", ""}
		pod := func() *model.Pod {
			i := r.IntN(200)
			p := ownedPod(fmt.Sprintf("p%03d", i), owners[r.IntN(3)], "", 1)
			p.Namespace = []string{"x", "y"}[i%2]
			return p
		}
		check := func(s *State, when string) {
			for _, owner := range owners[:2] {
				for _, namespace := range []string{"x", "y"} {
					assigned, pending := podsOfOwner(s, namespace, owner)
					if got := uids(s.assignedPodsOf(namespace, owner)); !slices.Equal(got, assigned) {
						t.Fatalf("seed %d, %s: assigned pods of %s/%s are %v, want %v", seed, when, namespace, owner, got, assigned)
					}
					if got := uids(s.PendingPodsOf(namespace, owner)); !slices.Equal(got, pending) {
						t.Fatalf("seed %d, %s: pending pods of %s/%s are %v, want %v", seed, when, namespace, owner, got, pending)
					}
				}
			}
		}
		step := func(s *State) {
			switch p := pod(); r.IntN(8) {
			case 0, 1, 2:
				s.UpsertPod(p)
			case 3:
				p.NodeName = []string{"a", "unknown"}[r.IntN(2)]
				s.UpsertPod(p)
			case 4:
				p.Phase = model.Succeeded
				s.UpsertPod(p)
			case 5:
				_ = s.Assume(p, "a") // assigned pods cannot be assumed
			case 6:
				s.Forget(p.UID)
			case 7:
				s.RemovePod(p.UID)
			}
		}
		for range 10 {
			for range 100 {
				step(s)
			}
			check(s, "before the fork")
			fork := s.Fork()
			for range 20 {
				step(fork)
			}
			check(s, "after its fork changed")
			for range 20 {
				step(s)
			}
			check(fork, "in the fork")
		}
	}
}

// BenchmarkHoldOfOneOwner measures adding and removing a Hold in a state with very many
// pods.
func BenchmarkHoldOfOneOwner(b *testing.B) {
	s := New()
	s.UpsertNode(&model.Node{Name: "a"})
	for i := range 100_000 {
		s.UpsertPod(ownedPod(fmt.Sprint("p", i), fmt.Sprint("o", i%1000), []string{"a", ""}[i%2], 1))
	}
	h := reserve("o7", "a", 1)
	h.Type, h.Placeholder = model.Avoid, nil
	for b.Loop() {
		s.UpsertHold(h)
		if n := len(s.PendingPodsOf("x", "o7")); n != 100 {
			b.Fatalf("found %d pending pods, want 100", n)
		}
		s.RemoveHold(h.Namespace, h.Name)
	}
}
