package displacement

import (
	"cmp"
	"slices"
	"time"
)

// DisplacedPod is a displaced pod of an owner.
type DisplacedPod struct {
	UID, Name, Node string
	At              time.Time // when it was displaced
	Replacement     string    // uid of its replacement, if known
}

// OwnerPod is a pod of an owner.
type OwnerPod struct {
	UID, Name, Node string
	Created         time.Time // in whole seconds, as the API has it
}

// MatchReplacements returns which of an owner's pods replaced which displaced pod, by uid: one for
// one, the oldest first. A StatefulSet's pod keeps its name, a DaemonSet's its node. Known
// replacements are kept.
func MatchReplacements(kind string, displaced []DisplacedPod, pods []OwnerPod) map[string]string {
	out, used := map[string]string{}, map[string]bool{}
	for _, l := range displaced {
		if l.Replacement != "" {
			out[l.UID], used[l.Replacement] = l.Replacement, true
		}
	}
	displaced, pods = slices.Clone(displaced), slices.Clone(pods)
	slices.SortFunc(displaced, func(a, b DisplacedPod) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.UID, b.UID)) })
	slices.SortFunc(pods, func(a, b OwnerPod) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID)) })
	for _, l := range displaced {
		if out[l.UID] != "" {
			continue
		}
		i := slices.IndexFunc(pods, func(c OwnerPod) bool { return !used[c.UID] && isReplacement(kind, c, l) })
		if i >= 0 {
			out[l.UID], used[pods[i].UID] = pods[i].UID, true
		}
	}
	return out
}

func isReplacement(kind string, c OwnerPod, l DisplacedPod) bool {
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
