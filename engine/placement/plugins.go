package placement

import "github.com/berthproject/berth/engine/decision"

// preFilterState is what a rule makes of a pod before any node is looked at. At most
// one of err and refusal is set. A rule without judge has nothing to say.
type preFilterState struct {
	err     error             // the attempt fails
	verdict *decision.Verdict // no node can do
	// hasNames: only the nodes of these names (sorted) are worth a look.
	hasNames bool
	names    []string
	filter   func(*candidateNode) decision.Verdict
}

// preScoreState is what a rule makes of a pod and of the nodes that fit it. A rule
// without raw has nothing to score.
type preScoreState struct {
	err   error // the attempt fails
	score func(*candidateNode) int64
	// normalizeScore turns the raw points of the feasible sites, in their order, into
	// 0 to 100 in place; nil when raw points are that already.
	normalizeScore func(sites []*candidateNode, points []int64)
}

// preFilter compiles a rule for judging. Rules that never judge give the
// zero value.
func (a *attempt) preFilter(r decision.Plugin) preFilterState {
	switch r {
	case decision.NodeUnschedulable:
		return a.nodeUnschedulable()
	case decision.NodeName:
		return a.nodeName()
	case decision.TaintToleration:
		return a.taintToleration()
	case decision.NodeAffinity:
		return a.nodeAffinity()
	case decision.NodePorts:
		return a.nodePorts()
	case decision.NodeResourcesFit:
		return a.nodeResourcesFit()
	case decision.VolumeRestrictions:
		return a.volumeRestrictions()
	case decision.NodeVolumeLimits:
		return a.nodeVolumeLimits()
	case decision.VolumeBinding:
		return a.volumeBinding()
	case decision.VolumeZone:
		return a.volumeZone()
	case decision.PodTopologySpread:
		return a.podTopologySpread()
	case decision.InterPodAffinity:
		return a.interPodAffinity()
	case decision.NodeDeclaredFeatures:
		return a.nodeDeclaredFeatures()
	}
	return preFilterState{}
}

// preScore compiles a rule for scoring the feasible sites. Rules that never
// score give the zero value.
func (a *attempt) preScore(r decision.Plugin, feasible []*candidateNode) preScoreState {
	switch r {
	case decision.TaintToleration:
		return a.scoreTaintToleration()
	case decision.NodeAffinity:
		return a.scoreNodeAffinity()
	case decision.NodeResourcesFit:
		return a.scoreNodeResourcesFit()
	case decision.VolumeBinding:
		return a.scoreVolumeBinding()
	case decision.PodTopologySpread:
		return a.scorePodTopologySpread(feasible)
	case decision.InterPodAffinity:
		return a.scoreInterPodAffinity()
	case decision.NodeResourcesBalancedAllocation:
		return a.scoreBalancedAllocation()
	case decision.ImageLocality:
		return a.scoreImageLocality()
	}
	return preScoreState{}
}
