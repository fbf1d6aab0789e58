package cluster

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestIntSet compares an intSet with a map.
func TestIntSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8))
	var s intSet
	want := map[int32]bool{}
	for range 3000 {
		i, member := int32(r.IntN(300)), r.IntN(3) == 0
		s.set(i, member)
		delete(want, i)
		if member {
			want[i] = true
		}
		var got, all []int32
		s.each(func(i int32) bool { got = append(got, i); return true })
		for i := range want {
			all = append(all, i)
		}
		slices.Sort(all)
		if s.n != len(all) || !slices.Equal(got, all) {
			t.Fatalf("%d numbers, %v; want %v", s.n, got, all)
		}
	}
}
