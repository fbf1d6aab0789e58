package model

import (
	"strconv"
	"time"
)

// TimedTaint is a taint, and when it was put on; zero when that is not known.
type TimedTaint struct {
	Taint
	Added time.Time
}

// ToleratesTaint says whether the toleration bears a taint. With numeric, Gt means that the
// taint's value is above the toleration's, Lt below; without, neither bears anything.
func (tol *Toleration) ToleratesTaint(t *Taint, numeric bool) bool {
	if tol.Effect != AnyEffect && tol.Effect != t.Effect {
		return false
	}
	if tol.Key != "" && tol.Key != t.Key {
		return false
	}
	switch tol.Op {
	case TolEqual:
		return tol.Value == t.Value
	case TolExists:
		return true
	case TolLt, TolGt:
		want, ok1 := parseCanonicalInt(tol.Value)
		have, ok2 := parseCanonicalInt(t.Value)
		if !numeric || !ok1 || !ok2 {
			return false
		}
		if tol.Op == TolGt {
			return have > want
		}
		return have < want
	}
	return false
}

// parseCanonicalInt reads an integer in its one canonical spelling: no plus sign, no
// leading zeros, no minus zero.
func parseCanonicalInt(s string) (int64, bool) {
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil && strconv.FormatInt(v, 10) == s
}
