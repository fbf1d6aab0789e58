package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// TestNextHoldExpiry checks that the next expiry is the minimum over all Holds, also after
// many are removed at once.
func TestNextHoldExpiry(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := New()
		s.UpsertNode(&model.Node{Name: "a"})
		for range 80 {
			switch h := reserve(fmt.Sprint("o", r.IntN(9)), "a", int64(r.IntN(30))); r.IntN(5) {
			case 0, 1, 2:
				s.UpsertHold(h)
			case 3:
				s.RemoveHold(h.Namespace, h.Name)
			case 4:
				hasOddEnd := func(h *model.Hold) bool { return h.Until.Unix()%2 == 1 }
				remaining := slices.DeleteFunc(s.Holds(), hasOddEnd)
				if removed := s.RemoveHolds(hasOddEnd); slices.ContainsFunc(removed, func(h *model.Hold) bool { return !hasOddEnd(h) }) || !slices.Equal(s.Holds(), remaining) {
					t.Fatalf("seed %d: removed %v, %v remain, want %v", seed, removed, s.Holds(), remaining)
				}
			}
			var first time.Time
			for _, h := range s.Holds() {
				if first.IsZero() || h.Until.Before(first) {
					first = h.Until
				}
			}
			if end, ok := s.NextHoldExpiry(); !end.Equal(first) || ok == first.IsZero() {
				t.Fatalf("seed %d: NextHoldExpiry() = %v, %t, want %v", seed, end, ok, first)
			}
		}
		rebuilt := New()
		rebuilt.UpsertNode(&model.Node{Name: "a"})
		for _, h := range s.Holds() {
			rebuilt.UpsertHold(h)
		}
		if got, want := reserved(s), reserved(rebuilt); got != want {
			t.Fatalf("seed %d: %q is reserved, want %q", seed, got, want)
		}
	}
}

// BenchmarkRemoveHolds measures removing all Holds from a state.
func BenchmarkRemoveHolds(b *testing.B) {
	s := New()
	for i := range 5000 {
		h := reserve(fmt.Sprint("o", i), "a", int64(i))
		h.Type, h.Placeholder = model.Avoid, nil
		s.UpsertHold(h)
	}
	for b.Loop() {
		s.Fork().RemoveHolds(func(*model.Hold) bool { return true })
	}
}
