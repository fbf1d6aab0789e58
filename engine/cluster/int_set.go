package cluster

import "math/bits"

// intSet is a sparse set of small integers.
type intSet struct {
	words []uint64
	n     int // number of members
}

// set adds a number or removes it.
func (s *intSet) set(i int32, member bool) {
	w, bit := int(i>>6), uint64(1)<<(i&63)
	if w >= len(s.words) {
		if !member {
			return
		}
		s.words = append(s.words, make([]uint64, w+1-len(s.words))...)
	}
	switch present := s.words[w]&bit != 0; {
	case member && !present:
		s.n++
	case !member && present:
		s.n--
	default:
		return
	}
	s.words[w] ^= bit
}

// each calls visit with the numbers in ascending order until it returns false.
func (s *intSet) each(visit func(int32) bool) bool {
	for w, word := range s.words {
		for ; word != 0; word &= word - 1 {
			if !visit(int32(w<<6 + bits.TrailingZeros64(word))) {
				return false
			}
		}
	}
	return true
}
