package fastpath

import (
	"math/bits"
	"slices"
)

// rankSet is a set of node ranks that finds the next rank from any start. It is a sorted
// list while it is small, and a bitmap when it is large and dense.
type rankSet struct {
	words []uint64 // bitmap; nil while the set is a list
	list  []int32  // sorted; nil while the set is a bitmap
	n     int32    // number of ranks
}

// add adds a rank. With more than limit ranks the list becomes a bitmap of size bits.
func (s *rankSet) add(r int32, limit, size int) {
	s.n++
	if s.words != nil {
		s.words[r>>6] |= 1 << (r & 63)
		return
	}
	i, _ := slices.BinarySearch(s.list, r)
	s.list = slices.Insert(s.list, i, r)
	if int(s.n) <= limit {
		return
	}
	s.words = make([]uint64, (size+63)/64)
	for _, r := range s.list {
		s.words[r>>6] |= 1 << (r & 63)
	}
	s.list = nil
}

// del removes a rank. With at most a quarter of limit ranks a bitmap becomes a list again.
func (s *rankSet) del(r int32, limit int) {
	s.n--
	if s.words == nil {
		if i, ok := slices.BinarySearch(s.list, r); ok {
			s.list = slices.Delete(s.list, i, i+1)
		}
		return
	}
	s.words[r>>6] &^= 1 << (r & 63)
	if int(s.n) > limit/4 {
		return
	}
	s.list = make([]int32, 0, limit/2+1)
	for w, word := range s.words {
		for ; word != 0; word &= word - 1 {
			s.list = append(s.list, int32(w<<6+bits.TrailingZeros64(word)))
		}
	}
	s.words = nil
}

// next returns the first rank at or after from, wrapping around. The set must not be
// empty.
func (s *rankSet) next(from int32) int32 {
	if s.words == nil {
		i, _ := slices.BinarySearch(s.list, from)
		if i == len(s.list) {
			i = 0
		}
		return s.list[i]
	}
	w := int(from >> 6)
	if w >= len(s.words) {
		w, from = 0, 0
	}
	word := s.words[w] >> (from & 63) << (from & 63)
	for word == 0 { // after a wrap-around, the word of from is read in full
		if w++; w == len(s.words) {
			w = 0
		}
		word = s.words[w]
	}
	return int32(w<<6 + bits.TrailingZeros64(word))
}

// bytes returns the approximate memory of the set.
func (s *rankSet) bytes() int { return 64 + 4*cap(s.list) + 8*len(s.words) }
