package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Indexes is a set of completion indexes as disjoint spans in ascending order.
type Indexes []Span

// Span is First to Last, inclusive.
type Span struct{ First, Last int32 }

// ParseIndexes parses a set in the format of a Job's status, "1,3-5,7". Indexes of limit or more are
// dropped: the Job may have been scaled down.
func ParseIndexes(s string, limit int32) (Indexes, error) {
	var out Indexes
	if s == "" {
		return nil, nil
	}
	for _, part := range strings.Split(s, ",") {
		from, to, isSpan := strings.Cut(part, "-")
		first, err := strconv.ParseInt(from, 10, 32)
		last := first
		if err == nil && isSpan {
			last, err = strconv.ParseInt(to, 10, 32)
		}
		if err != nil || first < 0 || last < first || len(out) > 0 && first <= int64(out[len(out)-1].Last) {
			return nil, fmt.Errorf("%q in %q must be an index or a range such as 3-5, in ascending order", part, s)
		}
		if first >= int64(limit) {
			break
		}
		out = append(out, Span{int32(first), min(int32(last), limit-1)})
	}
	return out, nil
}

// String returns the set in the format of a Job's status.
func (s Indexes) String() string {
	var b strings.Builder
	for i, r := range s.merge() {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(r.First)))
		switch {
		case r.Last == r.First+1:
			b.WriteString("," + strconv.Itoa(int(r.Last)))
		case r.Last > r.First:
			b.WriteString("-" + strconv.Itoa(int(r.Last)))
		}
	}
	return b.String()
}

// merge joins adjacent spans.
func (s Indexes) merge() Indexes {
	var out Indexes
	for _, r := range s {
		if n := len(out); n > 0 && out[n-1].Last+1 == r.First {
			out[n-1].Last = r.Last
			continue
		}
		out = append(out, r)
	}
	return out
}

// Len returns the number of indexes.
func (s Indexes) Len() (n int32) {
	for _, r := range s {
		n += r.Last - r.First + 1
	}
	return n
}

// Has reports whether the set contains i.
func (s Indexes) Has(i int32) bool {
	_, found := s.find(i)
	return found
}

// find returns the position of the span that contains i, or where it would be.
func (s Indexes) find(i int32) (at int, found bool) {
	return slices.BinarySearchFunc(s, i, func(r Span, i int32) int {
		switch {
		case r.Last < i:
			return -1
		case r.First > i:
			return 1
		}
		return 0
	})
}

// With returns the set with i added.
func (s Indexes) With(i int32) Indexes {
	at, found := s.find(i)
	if found {
		return s
	}
	return Indexes(slices.Insert(slices.Clone(s), at, Span{i, i})).merge()
}

// CountCommon returns the number of indexes in both sets.
func (s Indexes) CountCommon(o Indexes) (n int32) {
	for i, j := 0, 0; i < len(s) && j < len(o); {
		if first, last := max(s[i].First, o[j].First), min(s[i].Last, o[j].Last); first <= last {
			n += last - first + 1
		}
		if s[i].Last < o[j].Last {
			i++
		} else {
			j++
		}
	}
	return n
}
