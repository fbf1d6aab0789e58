package placement

import (
	"math/bits"
	"slices"
)

// rankSet is a set of node ranks that finds the next one from any point on. It
// is a sorted list while it is small, bits with a summary when it is large.
type rankSet struct {
	n     int
	list  []int32
	words []uint64
	sums  []uint64 // which words are not 0
}

// add puts a rank in. Above limit entries the list becomes bits for ranks below size.
func (s *rankSet) add(r int32, limit, size int) {
	s.n++
	if s.words == nil {
		i, _ := slices.BinarySearch(s.list, r)
		s.list = slices.Insert(s.list, i, r)
		if s.n <= limit {
			return
		}
		words := (size + 63) / 64
		s.words, s.sums = make([]uint64, words), make([]uint64, (words+63)/64)
		for _, r := range s.list {
			s.set(r)
		}
		s.list = nil
		return
	}
	s.set(r)
}

func (s *rankSet) set(r int32) {
	s.words[r>>6] |= 1 << (r & 63)
	s.sums[r>>12] |= 1 << (r >> 6 & 63)
}

// del takes a rank out. Bits become a list again at a quarter of the limit.
func (s *rankSet) del(r int32, limit int) {
	s.n--
	if s.words == nil {
		if i, ok := slices.BinarySearch(s.list, r); ok {
			s.list = slices.Delete(s.list, i, i+1)
		}
		return
	}
	s.words[r>>6] &^= 1 << (r & 63)
	if s.words[r>>6] == 0 {
		s.sums[r>>12] &^= 1 << (r >> 6 & 63)
	}
	if s.n > limit/4 {
		return
	}
	s.list = make([]int32, 0, limit)
	for w, word := range s.words {
		for ; word != 0; word &= word - 1 {
			s.list = append(s.list, int32(w<<6+bits.TrailingZeros64(word)))
		}
	}
	s.words, s.sums = nil, nil
}

// next is the first rank from a point on, going round; the set must not be empty.
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
		return s.first(0)
	}
	if rest := s.words[w] >> (from & 63); rest != 0 {
		return from + int32(bits.TrailingZeros64(rest))
	}
	return s.first(w + 1)
}

// first is the first rank of the words from w on, going round.
func (s *rankSet) first(w int) int32 {
	i := w >> 6
	if i < len(s.sums) {
		if rest := s.sums[i] >> (w & 63); rest != 0 {
			return s.lowest(w + bits.TrailingZeros64(rest))
		}
		i++
	}
	for ; i < len(s.sums); i++ {
		if s.sums[i] != 0 {
			return s.lowest(i<<6 + bits.TrailingZeros64(s.sums[i]))
		}
	}
	return s.first(0)
}

func (s *rankSet) lowest(w int) int32 { return int32(w<<6 + bits.TrailingZeros64(s.words[w])) }

// bytes is about what the set takes.
func (s *rankSet) bytes() int { return 96 + 4*cap(s.list) + 8*(len(s.words)+len(s.sums)) }
