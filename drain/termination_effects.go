package drain

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// terminationMatters reports whether the deletion of p from a cordoned node can affect the
// placement of other pods: by pod affinity beyond the node, or by volumes and claims. Topology
// spread ignores terminating pods.
func terminationMatters(v *View, p *model.Pod) bool {
	s := p.Spec
	if len(s.Claims)+len(s.Disks)+len(s.Inline)+len(s.ResourceClaims) > 0 {
		return true
	}
	if hasWideTerm(s, nil) {
		return true
	}
	refersToPod := func(q *model.Pod) bool { return hasWideTerm(q.Spec, p) }
	for _, id := range v.State.NodeIDs() {
		if slices.ContainsFunc(v.State.Node(id).Pods, func(q *model.Pod) bool { return q.UID != p.UID && refersToPod(q) }) {
			return true
		}
	}
	return slices.ContainsFunc(v.Pending(), refersToPod)
}

// hasWideTerm reports whether s has an affinity term with a topology wider than a node that
// matches p, or any such term if p is nil.
func hasWideTerm(s *model.PodSpec, p *model.Pod) bool {
	isWide := func(t *model.PodAffinityTerm) bool {
		return t.TopologyKey != framework.HostnameKey && (p == nil || t.Selector.Matches(p.Labels))
	}
	for _, terms := range [][]model.PodAffinityTerm{s.Affinity, s.AntiAffinity} {
		for i := range terms {
			if isWide(&terms[i]) {
				return true
			}
		}
	}
	for _, terms := range [][]model.WeightedPodAffinityTerm{s.PreferredAffinity, s.PreferredAntiAffinity} {
		for i := range terms {
			if isWide(&terms[i].Term) {
				return true
			}
		}
	}
	return false
}
