package framework

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Config is a scheduling profile: the enabled plugins by extension point, in order, and
// their arguments. It corresponds to a profile of KubeSchedulerConfiguration after
// multiPoint and defaults are resolved.
type Config struct {
	// Name is the schedulerName of the pods.
	Name string

	PreEnqueue []decision.Plugin
	PreFilter  []decision.Plugin
	Filter     []decision.Plugin
	PreScore   []decision.Plugin
	Score      []WeightedPlugin
	// Preemption is set if DefaultPreemption is enabled at postFilter.
	Preemption bool

	Fit               FitArgs
	Balanced          []ResourceWeight // of NodeResourcesBalancedAllocation
	InterPod          InterPodArgs
	AddedAffinity     AddedAffinity
	Spread            SpreadArgs
	VolumeBindTimeout time.Duration // bindTimeoutSeconds of VolumeBinding
	// StorageCapacityShape, by rising utilization, makes VolumeBinding score storage capacity.
	// If it is empty, VolumeBinding does not score.
	StorageCapacityShape []ShapePoint

	// NumericTolerations makes the toleration operators Gt and Lt compare numbers
	// (feature gate TaintTolerationComparisonOperators); otherwise they tolerate nothing.
	NumericTolerations bool
}

// WeightedPlugin is a score plugin with its weight; 0 means 1.
type WeightedPlugin struct {
	Plugin decision.Plugin
	Weight int64
}

// Strategy is the scoring strategy of NodeResourcesFit.
type Strategy uint8

// Scoring strategies of NodeResourcesFit.
const (
	LeastAllocated Strategy = iota
	MostAllocated
	RequestedToCapacityRatio
)

// ResourceWeight is a resource with its weight; 0 means 1.
type ResourceWeight struct {
	Name   string // cpu, memory, ephemeral-storage, or a scalar resource
	Weight int64
}

// ShapePoint is a point of the scoring function of RequestedToCapacityRatio or VolumeBinding.
type ShapePoint struct {
	Utilization int64 // percent, 0 to 100
	Score       int64 // 0 to 10
}

// FitArgs are the arguments of NodeResourcesFit.
type FitArgs struct {
	IgnoredResources      []string // extended resources that the filter ignores
	IgnoredResourceGroups []string // the same, by domain
	Strategy              Strategy
	Resources             []ResourceWeight
	Shape                 []ShapePoint // for RequestedToCapacityRatio, by rising utilization
}

// InterPodArgs are the arguments of InterPodAffinity.
type InterPodArgs struct {
	// HardPodAffinityWeight is the score weight of a required affinity term of an existing
	// pod, 0 to 100.
	HardPodAffinityWeight int64
	// IgnorePreferredTermsOfExistingPods excludes the preferred terms of existing pods when
	// the pod has no preferred terms.
	IgnorePreferredTermsOfExistingPods bool
}

// AddedAffinity is the addedAffinity of NodeAffinity, which applies to every pod of the
// profile.
type AddedAffinity struct {
	// HasRequired is set if requiredDuringSchedulingIgnoredDuringExecution is set. Then a node must match a term in
	// Required.
	HasRequired bool
	Required    []model.NodeSelectorTerm
	Preferred   []model.PreferredSchedulingTerm
}

// SpreadArgs are the arguments of PodTopologySpread.
type SpreadArgs struct {
	// SystemDefaulting selects kube-scheduler's built-in default constraints instead of
	// DefaultConstraints.
	SystemDefaulting bool
	// DefaultConstraints apply to pods that have no constraints and belong to a Service,
	// ReplicationController, ReplicaSet or StatefulSet. They use its selector.
	DefaultConstraints []model.SpreadConstraint
}

// HostnameKey is the label with the host name of a node.
const HostnameKey = "kubernetes.io/hostname"

// ZoneKey is the label of a node that names its zone.
const ZoneKey = "topology.kubernetes.io/zone"

// DefaultConfig returns the default profile of kube-scheduler.
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
