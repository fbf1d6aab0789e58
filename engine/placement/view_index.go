package placement

// bucketIndex finds buckets by vector: a hash table with open addressing, as the
// few slots that a shape uses hash and compare faster than a map's whole key.
type bucketIndex struct {
	table []int32 // bucket+1; 0 is free
	n     int
}

// clear empties the index and keeps its room, unless that is large.
func (x *bucketIndex) clear() {
	if len(x.table) > 1<<12 {
		x.table = nil
	}
	clear(x.table)
	x.n = 0
}

func hashVector(v []int32) uint64 {
	h := uint64(14695981039346656037)
	for _, s := range v {
		h = (h ^ uint64(uint32(s))) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// find returns the bucket of a vector, of which only the first slots count; -1
// when there is none.
func (x *bucketIndex) find(buckets []bucket, v *vector, slots int) int32 {
	if len(x.table) == 0 {
		return -1
	}
	mask := uint64(len(x.table) - 1)
search:
	for at := hashVector(v[:slots]) & mask; x.table[at] != 0; at = (at + 1) & mask {
		b := x.table[at] - 1
		of := &buckets[b].of
		for i := range v[:slots] {
			if v[i] != of[i] {
				continue search
			}
		}
		return b
	}
	return -1
}

// add enters the last of the buckets.
func (x *bucketIndex) add(buckets []bucket, slots int) {
	if x.n++; 2*x.n > len(x.table) {
		x.table = make([]int32, max(32, 2*len(x.table)))
		for b := range buckets {
			x.enter(buckets, int32(b), slots)
		}
		return
	}
	x.enter(buckets, int32(len(buckets)-1), slots)
}

func (x *bucketIndex) enter(buckets []bucket, b int32, slots int) {
	mask := uint64(len(x.table) - 1)
	at := hashVector(buckets[b].of[:slots]) & mask
	for x.table[at] != 0 {
		at = (at + 1) & mask
	}
	x.table[at] = b + 1
}
