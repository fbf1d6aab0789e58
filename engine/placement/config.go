package placement

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Config is one scheduling profile: which rules are asked where, in which
// order, and how they are set. It is what a profile of kube-scheduler's
// configuration comes down to once multiPoint and defaults are resolved.
type Config struct {
	// Name is the schedulerName of the pods that it is for.
	Name string

	PreEnqueue []decision.Rule
	PreFilter  []decision.Rule
	Filter     []decision.Rule
	PreScore   []decision.Rule
	Score      []WeightedRule
	// Preemption: pods that fit nowhere may make room (DefaultPreemption at postFilter).
	Preemption bool

	Fit             FitArgs
	Balanced        []ResourceWeight // the resources that NodeResourcesBalancedAllocation balances
	InterPod        InterPodArgs
	AddedAffinity   AddedAffinity
	Spread          SpreadArgs
	VolumeBindLimit time.Duration // how long a bind may wait for volumes
	// VolumeShape, by rising utilization, has VolumeBinding score how full storage
	// would be; without it volumes are not scored.
	VolumeShape []ShapePoint

	// NumericTolerations: the toleration operators Gt and Lt compare numbers
	// (kube-scheduler's gate TaintTolerationComparisonOperators); else they
	// tolerate nothing.
	NumericTolerations bool
}

// WeightedRule is a scoring rule with its weight; 0 counts as 1.
type WeightedRule struct {
	Rule   decision.Rule
	Weight int64
}

// Strategy is how NodeResourcesFit scores.
type Strategy uint8

// The strategies.
const (
	LeastAllocated Strategy = iota
	MostAllocated
	RequestedToCapacityRatio
)

// ResourceWeight is a resource with its weight; 0 counts as 1.
type ResourceWeight struct {
	Name   string // cpu, memory, ephemeral-storage, or a scalar resource
	Weight int64
}

// ShapePoint is a point of the broken line of RequestedToCapacityRatio.
type ShapePoint struct {
	Utilization int64 // percent, 0 to 100
	Score       int64 // 0 to 10
}

// FitArgs are the arguments of NodeResourcesFit.
type FitArgs struct {
	Ignored       []string // extended resources that the filter does not look at
	IgnoredGroups []string // the same, by domain
	Strategy      Strategy
	Resources     []ResourceWeight
	Shape         []ShapePoint // for RequestedToCapacityRatio, by rising utilization
}

// InterPodArgs are the arguments of InterPodAffinity.
type InterPodArgs struct {
	// HardWeight is what a required affinity term of a pod that is there counts
	// for the pod that comes, 0 to 100.
	HardWeight int64
	// IgnoreExisting: preferences of the pods that are there do not count for a
	// pod without preferences of its own.
	IgnoreExisting bool
}

// AddedAffinity is the argument of NodeAffinity: demanded and preferred of
// nodes for every pod of the profile, besides what the pod says.
type AddedAffinity struct {
	HasRequired bool
	Required    []model.NodeTerm
	Preferred   []model.WeightedNodeTerm
}

// SpreadArgs are the arguments of PodTopologySpread.
type SpreadArgs struct {
	// System: kube-scheduler's own default constraints; else Defaults.
	System bool
	// Defaults hold for pods without constraints that belong to a Service,
	// ReplicationController, ReplicaSet or StatefulSet; their selectors are deduced.
	Defaults []model.SpreadConstraint
}

// HostnameKey is the label that holds a node's host name.
const HostnameKey = "kubernetes.io/hostname"

const zoneKey = "topology.kubernetes.io/zone"

// DefaultConfig is the default profile of kube-scheduler.
func DefaultConfig() Config {
	cpuAndMemory := []ResourceWeight{{"cpu", 1}, {"memory", 1}}
	return Config{
		Name:       "default-scheduler",
		PreEnqueue: []decision.Rule{decision.SchedulingGates, decision.DynamicResources, decision.GangScheduling},
		PreFilter: []decision.Rule{decision.NodeAffinity, decision.NodePorts, decision.NodeResourcesFit,
			decision.VolumeRestrictions, decision.NodeVolumeLimits, decision.VolumeBinding, decision.VolumeZone,
			decision.PodTopologySpread, decision.InterPodAffinity, decision.NodeDeclaredFeatures},
		Filter: []decision.Rule{decision.NodeUnschedulable, decision.NodeName, decision.TaintToleration,
			decision.NodeAffinity, decision.NodePorts, decision.NodeResourcesFit, decision.VolumeRestrictions,
			decision.NodeVolumeLimits, decision.VolumeBinding, decision.VolumeZone, decision.PodTopologySpread,
			decision.InterPodAffinity, decision.NodeDeclaredFeatures},
		PreScore: []decision.Rule{decision.TaintToleration, decision.NodeAffinity, decision.NodeResourcesFit,
			decision.PodTopologySpread, decision.InterPodAffinity, decision.NodeResourcesBalancedAllocation},
		Score: []WeightedRule{{decision.TaintToleration, 3}, {decision.NodeAffinity, 2},
			{decision.NodeResourcesFit, 1}, {decision.PodTopologySpread, 2}, {decision.InterPodAffinity, 2},
			{decision.NodeResourcesBalancedAllocation, 1}, {decision.ImageLocality, 1}},
		Preemption:      true,
		Fit:             FitArgs{Resources: cpuAndMemory},
		Balanced:        cpuAndMemory,
		InterPod:        InterPodArgs{HardWeight: 1},
		Spread:          SpreadArgs{System: true},
		VolumeBindLimit: 600 * time.Second,
	}
}
