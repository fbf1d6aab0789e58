package evacuation

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// AlreadyTerminating reports whether a pod terminates, or is deleted, without an eviction by the drain. The drain does
// not wait for its replacement.
func (x *Move) AlreadyTerminating() bool { return x.Evicted() && x.Round == 0 }

// observeTerminating updates which terminating pods block their siblings. They do not if the owner has already replaced
// them and all its pods are Ready.
func (d *Drain) observeTerminating() {
	for _, x := range d.moves {
		blocks := x.AlreadyTerminating() && !x.Deleted() && d.hasWaitingSiblings(x) && !d.isReplaced(x.Pod.Owner)
		if x.blocksSiblings && !blocks {
			d.acted = true // siblings may be evicted now: run another round
		}
		x.blocksSiblings = blocks
	}
}

// hasWaitingSiblings reports whether other pods of the workload wait for their eviction.
func (d *Drain) hasWaitingSiblings(x *Move) bool {
	o := x.Pod.Owner.UID
	return o != "" && slices.ContainsFunc(d.moves, func(y *Move) bool { return y.Stage == Waiting && y.Pod.Owner.UID == o })
}

// isReplaced reports whether an owner, of a kind that replaces terminating pods at once, has only Ready pods.
func (d *Drain) isReplaced(o model.Owner) bool {
	if o.Kind != "ReplicaSet" && o.Kind != "ReplicationController" {
		return false
	}
	return !slices.ContainsFunc(d.view.OwnedBy(o), func(p *model.Pod) bool { return !p.Deleting && !p.Ready })
}

// anyTerminating reports whether a pod terminates without an eviction by the drain.
func (d *Drain) anyTerminating() bool {
	return slices.ContainsFunc(d.moves, func(x *Move) bool { return x.AlreadyTerminating() && !x.Deleted() })
}

// terminationMatters reports whether the deletion of p from a cordoned node can affect the placement of other pods.
// Pod affinity beyond the node, volumes and claims can. Topology spread ignores terminating pods.
func (d *Drain) terminationMatters(p *model.Pod) bool {
	s := p.Spec
	if len(s.Claims)+len(s.Disks)+len(s.Inline)+len(s.ResourceClaims) > 0 {
		return true
	}
	if hasWideTerm(s, nil) {
		return true
	}
	refersToPod := func(q *model.Pod) bool { return hasWideTerm(q.Spec, p) }
	for _, id := range d.view.State.NodeIDs() {
		if slices.ContainsFunc(d.view.State.Node(id).Pods, func(q *model.Pod) bool { return q.UID != p.UID && refersToPod(q) }) {
			return true
		}
	}
	return slices.ContainsFunc(d.view.Pending(), refersToPod)
}

// hasWideTerm reports whether s has an affinity term that matches p and has a topology wider than a node. If p is nil,
// any such term counts.
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
