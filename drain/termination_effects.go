package drain

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// terminationMatters says whether it can matter to the place of any other pod that a pod of a
// cordoned node is not gone yet: by affinity to or against it beyond its node, or by what it holds. Spread
// does not count pods on their way out.
func terminationMatters(v *View, p *model.Pod) bool {
	s := p.Spec
	if len(s.Claims)+len(s.Disks)+len(s.Inline)+len(s.ResourceClaims) > 0 {
		return true
	}
	if hasWideTerm(s, nil) {
		return true
	}
	about := func(q *model.Pod) bool { return hasWideTerm(q.Spec, p) }
	for _, id := range v.State.NodeIDs() {
		if slices.ContainsFunc(v.State.Node(id).Pods, func(q *model.Pod) bool { return q.UID != p.UID && about(q) }) {
			return true
		}
	}
	return slices.ContainsFunc(v.Pending(), about)
}

// hasWideTerm says that a specification has a term whose topology is wider than a node, about
// the given pod, or, when there is none, about any.
func hasWideTerm(s *model.PodSpec, p *model.Pod) bool {
	far := func(t *model.PodAffinityTerm) bool {
		return t.TopologyKey != placement.HostnameKey && (p == nil || t.Selector.Matches(p.Labels))
	}
	for _, terms := range [][]model.PodAffinityTerm{s.Affinity, s.AntiAffinity} {
		for i := range terms {
			if far(&terms[i]) {
				return true
			}
		}
	}
	for _, terms := range [][]model.WeightedPodAffinityTerm{s.PreferredAffinity, s.PreferredAntiAffinity} {
		for i := range terms {
			if far(&terms[i].Term) {
				return true
			}
		}
	}
	return false
}
