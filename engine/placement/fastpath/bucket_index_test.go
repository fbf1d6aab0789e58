package fastpath

import (
	"math/rand/v2"
	"testing"
)

// TestBucketIndex compares a bucketIndex with a map.
func TestBucketIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	var x bucketIndex
	for range 20 {
		var buckets []nodeBucket
		want := map[bucketKey]int32{}
		var slots []uint8
		for s := range maxSlots {
			if r.IntN(3) == 0 {
				slots = append(slots, uint8(s))
			}
		}
		x.clear()
		for range 500 {
			var key bucketKey
			for _, s := range slots {
				key[s] = int32(r.IntN(4))
			}
			bucket, ok := want[key]
			if !ok {
				bucket = -1
			}
			if got := x.find(buckets, &key, slots); got != bucket {
				t.Fatalf("key %v: found bucket %d, want %d", key, got, bucket)
			}
			if !ok {
				want[key] = int32(len(buckets))
				buckets = append(buckets, nodeBucket{key: key})
				x.add(buckets, slots)
			}
		}
	}
}
