package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/journal"
)

// Filter selects displacements. The zero value selects all.
type Filter struct {
	Node   string
	Causes []displacement.Cause
	// Owner is KIND/NAME or NAME of the pods' controller. Pods of a Deployment match by the Deployment
	// and by its ReplicaSet.
	Owner string
	Since time.Time
}

// ParseCauses parses names of causes, ignoring case.
func ParseCauses(names []string) (out []displacement.Cause, err error) {
	var accepted []string
	for _, c := range displacement.Causes() {
		accepted = append(accepted, c.String())
	}
	for _, n := range names {
		i := slices.IndexFunc(accepted, func(k string) bool { return strings.EqualFold(k, n) })
		if i < 0 {
			return nil, fmt.Errorf("--cause %q: must be one of %s", n, strings.Join(accepted, ", "))
		}
		out = append(out, displacement.Causes()[i])
	}
	return out, nil
}

// Apply returns the displacements that match.
func (f *Filter) Apply(list []*journal.Displacement) []*journal.Displacement {
	return slices.DeleteFunc(slices.Clone(list), func(d *journal.Displacement) bool { return !f.matches(d) })
}

func (f *Filter) matches(d *journal.Displacement) bool {
	cause, _ := displacement.ParseCause(d.Cause)
	return (f.Node == "" || d.Node == f.Node) && !d.Time.Before(f.Since) &&
		(len(f.Causes) == 0 || slices.Contains(f.Causes, cause)) && (f.Owner == "" || d.Owner != nil && f.matchesOwner(d.Owner))
}

func (f *Filter) matchesOwner(o *journal.Owner) bool {
	kind, name, hasKind := strings.Cut(f.Owner, "/")
	if !hasKind {
		kind, name = "", f.Owner
	}
	if o.Name == name && (kind == "" || strings.EqualFold(kind, o.Kind)) {
		return true
	}
	i := strings.LastIndexByte(o.Name, '-')
	return o.Kind == "ReplicaSet" && i > 0 && o.Name[:i] == name && (kind == "" || strings.EqualFold(kind, "Deployment"))
}
