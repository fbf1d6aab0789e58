package framework

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

	PreEnqueue []decision.Plugin
	PreFilter  []decision.Plugin
	Filter     []decision.Plugin
	PreScore   []decision.Plugin
	Score      []WeightedPlugin
	// Preemption: pods that fit nowhere may make room (DefaultPreemption at postFilter).
	Preemption bool

	Fit               FitArgs
	Balanced          []ResourceWeight // the resources that NodeResourcesBalancedAllocation balances
	InterPod          InterPodArgs
	AddedAffinity     AddedAffinity
	Spread            SpreadArgs
	VolumeBindTimeout time.Duration // how long a bind may wait for volumes
	// StorageCapacityShape, by rising utilization, has VolumeBinding score how full storage
	// would be; without it volumes are not scored.
	StorageCapacityShape []ShapePoint

	// TaintTolerationComparison: the toleration operators Gt and Lt compare numbers
	// (kube-scheduler's gate TaintTolerationComparisonOperators); else they
	// tolerate nothing.
	TaintTolerationComparison bool
}

// WeightedPlugin is a scoring rule with its weight; 0 counts as 1.
type WeightedPlugin struct {
	Plugin decision.Plugin
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
	IgnoredResources      []string // extended resources that the filter does not look at
	IgnoredResourceGroups []string // the same, by domain
	Strategy              Strategy
	Resources             []ResourceWeight
	Shape                 []ShapePoint // for RequestedToCapacityRatio, by rising utilization
}

// InterPodArgs are the arguments of InterPodAffinity.
type InterPodArgs struct {
	// HardPodAffinityWeight is what a required affinity term of a pod that is there counts
	// for the pod that comes, 0 to 100.
	HardPodAffinityWeight int64
	// IgnorePreferredTermsOfExistingPods: preferences of the pods that are there do not count for a
	// pod without preferences of its own.
	IgnorePreferredTermsOfExistingPods bool
}

// AddedAffinity is the argument of NodeAffinity: demanded and preferred of
// nodes for every pod of the profile, besides what the pod says.
type AddedAffinity struct {
	HasRequired bool
	Required    []model.NodeSelectorTerm
	Preferred   []model.PreferredSchedulingTerm
}

// SpreadArgs are the arguments of PodTopologySpread.
type SpreadArgs struct {
	// SystemDefaulting: kube-scheduler's own default constraints; else Defaults.
	SystemDefaulting bool
	// DefaultConstraints hold for pods without constraints that belong to a Service,
	// ReplicationController, ReplicaSet or StatefulSet; their selectors are deduced.
	DefaultConstraints []model.SpreadConstraint
}

// HostnameKey is the label that holds a node's host name.
const HostnameKey = "kubernetes.io/hostname"

const ZoneKey = "topology.kubernetes.io/zone"

// DefaultConfig is the default profile of kube-scheduler.
func DefaultConfig() Config {
	cpuAndMemory := []ResourceWeight{{"cpu", 1}, {"memory", 1}}
	return Config{
		Name:       "default-scheduler",
		PreEnqueue: []decision.Plugin{decision.SchedulingGates, decision.DynamicResources, decision.GangScheduling},
		PreFilter: []decision.Plugin{decision.NodeAffinity, decision.NodePorts, decision.NodeResourcesFit,
			decision.VolumeRestrictions, decision.NodeVolumeLimits, decision.VolumeBinding, decision.VolumeZone,
			decision.PodTopologySpread, decision.InterPodAffinity, decision.NodeDeclaredFeatures},
		Filter: []decision.Plugin{decision.NodeUnschedulable, decision.NodeName, decision.TaintToleration,
			decision.NodeAffinity, decision.NodePorts, decision.NodeResourcesFit, decision.VolumeRestrictions,
			decision.NodeVolumeLimits, decision.VolumeBinding, decision.VolumeZone, decision.PodTopologySpread,
			decision.InterPodAffinity, decision.NodeDeclaredFeatures},
		PreScore: []decision.Plugin{decision.TaintToleration, decision.NodeAffinity, decision.NodeResourcesFit,
			decision.PodTopologySpread, decision.InterPodAffinity, decision.NodeResourcesBalancedAllocation},
		Score: []WeightedPlugin{{decision.TaintToleration, 3}, {decision.NodeAffinity, 2},
			{decision.NodeResourcesFit, 1}, {decision.PodTopologySpread, 2}, {decision.InterPodAffinity, 2},
			{decision.NodeResourcesBalancedAllocation, 1}, {decision.ImageLocality, 1}},
		Preemption:        true,
		Fit:               FitArgs{Resources: cpuAndMemory},
		Balanced:          cpuAndMemory,
		InterPod:          InterPodArgs{HardPodAffinityWeight: 1},
		Spread:            SpreadArgs{SystemDefaulting: true},
		VolumeBindTimeout: 600 * time.Second,
	}
}
