package model

import (
	"cmp"
	"slices"
	"strconv"
)

// Labels are label pairs, sorted by unique keys.
type Labels []Label

// Label is one label pair.
type Label struct{ Key, Value string }

// LabelsOf returns the Labels of a map.
func LabelsOf(m map[string]string) Labels {
	if len(m) == 0 {
		return nil
	}
	out := make(Labels, 0, len(m))
	for k, v := range m {
		out = append(out, Label{k, v})
	}
	slices.SortFunc(out, func(a, b Label) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// Get returns the value of a key and whether the key exists.
func (l Labels) Get(key string) (string, bool) {
	i, ok := slices.BinarySearchFunc(l, key, func(e Label, k string) int { return cmp.Compare(e.Key, k) })
	if !ok {
		return "", false
	}
	return l[i].Value, true
}

// Op is the operator of a requirement.
type Op uint8

// The operators. Gt and Lt compare integers and exist in node affinity only.
const (
	In Op = iota
	NotIn
	Exists
	DoesNotExist
	Gt
	Lt
)

// Requirement is one condition on a label.
type Requirement struct {
	Key    string
	Op     Op
	Values []string // sorted for In and NotIn
}

// Matches reports whether labels meet the requirement. A missing key meets NotIn and
// DoesNotExist. Gt and Lt fail on values that are not integers.
func (r *Requirement) Matches(l Labels) bool {
	v, ok := l.Get(r.Key)
	switch r.Op {
	case In:
		return ok && slices.Contains(r.Values, v)
	case NotIn:
		return !ok || !slices.Contains(r.Values, v)
	case Exists:
		return ok
	case DoesNotExist:
		return !ok
	case Gt, Lt:
		if !ok || len(r.Values) != 1 {
			return false
		}
		value, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return false
		}
		limit, err := strconv.ParseInt(r.Values[0], 10, 64)
		if err != nil {
			return false
		}
		if r.Op == Gt {
			return value > limit
		}
		return value < limit
	}
	return false
}

// Selector is a conjunction of requirements. A nil *Selector matches nothing; one without
// requirements matches everything.
type Selector struct {
	Requirements []Requirement // sorted by key, operator, values
}

// Matches reports whether labels meet all requirements.
func (s *Selector) Matches(l Labels) bool {
	if s == nil {
		return false
	}
	for i := range s.Requirements {
		if !s.Requirements[i].Matches(l) {
			return false
		}
	}
	return true
}
