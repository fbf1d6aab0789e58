package model

import (
	"strconv"
	"time"
)

// TimedTaint is a taint with the time it was added; zero if unknown.
type TimedTaint struct {
	Taint
	Added time.Time
}

// ToleratesTaint reports whether the toleration tolerates a taint. If numeric is set, Gt
// tolerates taint values greater than the toleration's and Lt smaller ones; otherwise
// neither tolerates anything.
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
		limit, ok1 := parseCanonicalInt(tol.Value)
		value, ok2 := parseCanonicalInt(t.Value)
		if !numeric || !ok1 || !ok2 {
			return false
		}
		if tol.Op == TolGt {
			return value > limit
		}
		return value < limit
	}
	return false
}

// parseCanonicalInt parses an integer in canonical form: no plus sign, leading zeros or
// minus zero.
func parseCanonicalInt(s string) (int64, bool) {
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil && strconv.FormatInt(v, 10) == s
}
