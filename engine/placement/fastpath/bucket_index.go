package fastpath

// bucketIndex finds node buckets by key. It is a hash table with open addressing: the few
// slots that a class uses hash and compare faster than a map key.
type bucketIndex struct {
	table []int32 // index of the bucket plus 1; 0 if the entry is free
	n     int     // number of buckets
}

// clear empties the index and keeps its memory, unless that is large.
func (x *bucketIndex) clear() {
	if len(x.table) > 1<<12 {
		x.table = nil
	}
	clear(x.table)
	x.n = 0
}

// hash returns the hash of the key's values in the given slots. The multiplications are independent of each other.
func (k *bucketKey) hash(slots []uint8) uint64 {
	var h uint64
	factor := uint64(0x9e3779b97f4a7c15)
	for _, s := range slots {
		h += uint64(uint32(k[s])+1) * factor
		factor += 0x6a09e667f3bcc908
	}
	return h ^ h>>32
}

// equal reports whether two keys have equal values in the given slots.
func (k *bucketKey) equal(other *bucketKey, slots []uint8) bool {
	for _, s := range slots {
		if k[s] != other[s] {
			return false
		}
	}
	return true
}

// find returns the index of the bucket whose key is equal in the given slots; -1 if there is none.
func (x *bucketIndex) find(buckets []nodeBucket, k *bucketKey, slots []uint8) int32 {
	if len(x.table) == 0 {
		return -1
	}
	mask := uint64(len(x.table) - 1)
	for i := k.hash(slots) & mask; x.table[i] != 0; i = (i + 1) & mask {
		if b := x.table[i] - 1; k.equal(&buckets[b].key, slots) {
			return b
		}
	}
	return -1
}

// add adds the last bucket to the index.
func (x *bucketIndex) add(buckets []nodeBucket, slots []uint8) {
	if x.n++; 2*x.n > len(x.table) {
		x.table = make([]int32, max(32, 2*len(x.table)))
		for b := range buckets {
			x.insert(buckets, int32(b), slots)
		}
		return
	}
	x.insert(buckets, int32(len(buckets)-1), slots)
}

func (x *bucketIndex) insert(buckets []nodeBucket, b int32, slots []uint8) {
	mask := uint64(len(x.table) - 1)
	i := buckets[b].key.hash(slots) & mask
	for x.table[i] != 0 {
		i = (i + 1) & mask
	}
	x.table[i] = b + 1
}
