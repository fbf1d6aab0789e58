package workload

import "testing"

func TestIndexes(t *testing.T) {
	var s Indexes
	for _, i := range []int32{5, 1, 3, 4, 9, 8, 1} {
		s = s.With(i)
	}
	if got := s.String(); got != "1,3-5,8,9" || s.Len() != 6 || !s.Has(4) || s.Has(2) {
		t.Errorf("got %s with %d indexes, want 1,3-5,8,9 with 6", got, s.Len())
	}
	indexes, err := ParseIndexes("1,3-5,8,9", 9)
	if err != nil || indexes.String() != "1,3-5,8" {
		t.Errorf("ParseIndexes with limit 9 returned %s, %v, want 1,3-5,8", indexes, err)
	}
	if n := s.CountCommon(Indexes{{0, 3}, {5, 8}}); n != 4 {
		t.Errorf("%d indexes in common, want 4: 1, 3, 5, 8", n)
	}
	for _, bad := range []string{"x", "3-1", "1,1", "-1", "1,,2", "99999999999"} {
		if _, err := ParseIndexes(bad, 100); err == nil {
			t.Errorf("ParseIndexes(%q) returned no error", bad)
		}
	}
}
