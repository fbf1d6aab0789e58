package displace

import (
	"cmp"
	"slices"
	"time"
)

// Left is a displaced pod of an owner.
type Left struct {
	UID, Name, Node string
	At              time.Time // when it was displaced
	Replacement     string    // uid of the pod that is known to have come for it; empty: none yet
}

// Came is a pod of an owner.
type Came struct {
	UID, Name, Node string
	Created         time.Time // in whole seconds, as the API has it
}

// Replacements says which pod came for which of an owner's displaced ones, by uid: one for one, the
// oldest first. A StatefulSet's pod comes back under its name, a DaemonSet's to its node. What was
// known before stays.
func Replacements(kind string, left []Left, came []Came) map[string]string {
	out, taken := map[string]string{}, map[string]bool{}
	for _, l := range left {
		if l.Replacement != "" {
			out[l.UID], taken[l.Replacement] = l.Replacement, true
		}
	}
	left, came = slices.Clone(left), slices.Clone(came)
	slices.SortFunc(left, func(a, b Left) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.UID, b.UID)) })
	slices.SortFunc(came, func(a, b Came) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID)) })
	for _, l := range left {
		if out[l.UID] != "" {
			continue
		}
		i := slices.IndexFunc(came, func(c Came) bool { return !taken[c.UID] && comesFor(kind, c, l) })
		if i >= 0 {
			out[l.UID], taken[came[i].UID] = came[i].UID, true
		}
	}
	return out
}

func comesFor(kind string, c Came, l Left) bool {
	if c.UID == l.UID || c.Created.Before(l.At.Truncate(time.Second)) {
		return false
	}
	switch kind {
	case "StatefulSet":
		return c.Name == l.Name
	case "DaemonSet":
		return c.Node == "" || c.Node == l.Node
	}
	return true
}
