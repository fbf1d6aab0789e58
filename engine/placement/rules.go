package placement

import "github.com/berthproject/berth/engine/decision"

// compiled is what a rule makes of a pod before any node is looked at. At most
// one of err and refusal is set. A rule without judge has nothing to say.
type compiled struct {
	err     error             // the attempt fails
	refusal *decision.Verdict // no node can do
	// narrowed: only the nodes of these names (sorted) are worth a look.
	narrowed bool
	names    []string
	judge    func(*site) decision.Verdict
}

// scoring is what a rule makes of a pod and of the nodes that fit it. A rule
// without raw has nothing to score.
type scoring struct {
	err error // the attempt fails
	raw func(*site) int64
	// normalise turns the raw points of the feasible sites, in their order, into
	// 0 to 100 in place; nil when raw points are that already.
	normalise func(sites []*site, points []int64)
}

// compileFilter compiles a rule for judging. Rules that never judge give the
// zero value.
func (a *attempt) compileFilter(r decision.Rule) compiled {
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
		return a.resourcesFit()
	case decision.VolumeRestrictions:
		return a.volumeRestrictions()
	case decision.NodeVolumeLimits:
		return a.volumeLimits()
	case decision.VolumeBinding:
		return a.volumeBinding()
	case decision.VolumeZone:
		return a.volumeZone()
	case decision.PodTopologySpread:
		return a.topologySpread()
	case decision.InterPodAffinity:
		return a.interPodAffinity()
	case decision.NodeDeclaredFeatures:
		return a.declaredFeatures()
	}
	return compiled{}
}

// compileScore compiles a rule for scoring the feasible sites. Rules that never
// score give the zero value.
func (a *attempt) compileScore(r decision.Rule, feasible []*site) scoring {
	switch r {
	case decision.TaintToleration:
		return a.scoreTaints()
	case decision.NodeAffinity:
		return a.scoreNodeAffinity()
	case decision.NodeResourcesFit:
		return a.scoreFit()
	case decision.VolumeBinding:
		return a.scoreVolumes()
	case decision.PodTopologySpread:
		return a.scoreSpread(feasible)
	case decision.InterPodAffinity:
		return a.scoreInterPod()
	case decision.NodeResourcesBalancedAllocation:
		return a.scoreBalance()
	case decision.ImageLocality:
		return a.scoreImages()
	}
	return scoring{}
}
