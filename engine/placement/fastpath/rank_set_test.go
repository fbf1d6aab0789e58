package fastpath

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/berthproject/berth/internal/testkit/build"
)

// TestRankSet compares a rankSet with a sorted list.
func TestRankSet(t *testing.T) {
	for seed := range uint64(build.SoakRounds(50)) {
		r := rand.New(rand.NewPCG(seed, 5))
		size, limit := 1+r.IntN(400), 1+r.IntN(40)
		var s rankSet
		var want []int32
		for range 600 {
			rank := int32(r.IntN(size))
			if i, found := slices.BinarySearch(want, rank); found {
				s.del(rank, limit)
				want = slices.Delete(want, i, i+1)
			} else {
				s.add(rank, limit, size)
				want = slices.Insert(want, i, rank)
			}
			if int(s.n) != len(want) {
				t.Fatalf("seed %d: %d ranks, want %d", seed, s.n, len(want))
			}
			if len(want) == 0 {
				continue
			}
			from := int32(r.IntN(size + 1)) // size: past the last
			i, _ := slices.BinarySearch(want, from)
			if got := s.next(from); got != want[i%len(want)] {
				t.Fatalf("seed %d: next(%d) = %d, want %d; ranks %v", seed, from, got, want[i%len(want)], want)
			}
		}
	}
}
