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
	Replacement     string    // UID of its replacement, if known
}

// OwnerPod is a pod of an owner.
type OwnerPod struct {
	UID, Name, Node string
	Created         time.Time // in whole seconds, as the API has it
}

// MatchReplacements returns which of an owner's pods replaced which displaced pod, by UID: one for
// one, the oldest first. A StatefulSet's pod keeps its name, a DaemonSet's its node. Replacements that
// are already known do not change.
func MatchReplacements(kind string, displaced []DisplacedPod, pods []OwnerPod) map[string]string {
	out, used := map[string]string{}, map[string]bool{}
	for _, d := range displaced {
		if d.Replacement != "" {
			out[d.UID], used[d.Replacement] = d.Replacement, true
		}
	}
	displaced, pods = slices.Clone(displaced), slices.Clone(pods)
	slices.SortFunc(displaced, func(a, b DisplacedPod) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.UID, b.UID)) })
	slices.SortFunc(pods, func(a, b OwnerPod) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID)) })
	for _, d := range displaced {
		if out[d.UID] != "" {
			continue
		}
		i := slices.IndexFunc(pods, func(p OwnerPod) bool { return !used[p.UID] && isReplacement(kind, p, d) })
		if i >= 0 {
			out[d.UID], used[pods[i].UID] = pods[i].UID, true
		}
	}
	return out
}

func isReplacement(kind string, p OwnerPod, d DisplacedPod) bool {
	if p.UID == d.UID || p.Created.Before(d.At.Truncate(time.Second)) {
		return false
	}
	switch kind {
	case "StatefulSet":
		return p.Name == d.Name
	case "DaemonSet":
		return p.Node == "" || p.Node == d.Node
	}
	return true
}
