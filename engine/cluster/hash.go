package cluster

// Hash64 returns the FNV-1a hash of a seed and a string with a final avalanche step. A seed of 0
// is not hashed. The result is the same on every machine and in every run.
func Hash64(seed uint64, s string) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	if seed != 0 {
		for i := 0; i < 8; i++ {
			h = (h ^ (seed & 0xff)) * prime
			seed >>= 8
		}
	}
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * prime
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
