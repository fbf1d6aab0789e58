package plugins

import (
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/framework"
)

// plugin is an entry of the registry. Every field may be nil or zero.
type plugin struct {
	// preFilter returns the filter for a pod.
	preFilter func(*framework.Evaluation) framework.PreFilterState
	// preScore returns the score function for a pod and the nodes that fit it.
	preScore func(ev *framework.Evaluation, feasible []*framework.CandidateNode) framework.PreScoreState
	// events may make a pod schedulable that the plugin rejected.
	events decision.ClusterEvents
}

// registry holds the plugins. To add a plugin, add its name to engine/decision/plugin.go,
// write a file in this package and add an entry here.
var registry = [decision.NumPlugins]plugin{
	decision.NoPlugin: {events: decision.AnyEvent}, // rejected by an extender
	// SchedulingGates and GangScheduling register no events: only an update of the pod itself
	// helps.
	decision.NodeUnschedulable: {
		preFilter: nodeUnschedulable,
		events:    decision.NodeAdded | decision.NodeUncordoned,
	},
	decision.NodeName: {
		preFilter: nodeName,
		events:    decision.NodeAdded,
	},
	decision.TaintToleration: {
		preFilter: taintToleration,
		preScore:  scoreTaintToleration,
		events:    decision.NodeAdded | decision.NodeTaintsChanged,
	},
	decision.NodeAffinity: {
		preFilter: nodeAffinity,
		preScore:  scoreNodeAffinity,
		events:    decision.NodeAdded | decision.NodeLabelsChanged,
	},
	decision.NodePorts: {
		preFilter: nodePorts,
		events:    decision.NodeAdded | decision.PodRemoved,
	},
	decision.NodeResourcesFit: {
		preFilter: nodeResourcesFit,
		preScore:  scoreNodeResourcesFit,
		events:    decision.NodeAdded | decision.NodeAllocatableChanged | decision.PodRemoved | decision.PodScaledDown,
	},
	decision.VolumeRestrictions: {
		preFilter: volumeRestrictions,
		events:    decision.NodeAdded | decision.PodRemoved | decision.PVCChanged,
	},
	decision.NodeVolumeLimits: {
		preFilter: nodeVolumeLimits,
		// An assigned pod may bring a volume that the pending pod shares.
		events: decision.NodeAdded | decision.PodRemoved | decision.PodAssigned | decision.CSINodeChanged |
			decision.CSIDriverChanged | decision.PVCChanged | decision.PVChanged |
			decision.StorageClassChanged | decision.VolumeAttachmentChanged,
	},
	decision.VolumeBinding: {
		preFilter: volumeBinding,
		preScore:  scoreVolumeBinding,
		events: decision.NodeAdded | decision.NodeLabelsChanged | decision.PVCChanged | decision.PVChanged |
			decision.StorageClassChanged | decision.CSINodeChanged | decision.CSIDriverChanged |
			decision.CSIStorageCapacityChanged,
	},
	decision.VolumeZone: {
		preFilter: volumeZone,
		events: decision.NodeAdded | decision.NodeLabelsChanged | decision.PVCChanged | decision.PVChanged |
			decision.StorageClassChanged,
	},
	decision.PodTopologySpread: {
		preFilter: podTopologySpread,
		preScore:  scorePodTopologySpread,
		// A pod may raise the lowest count, and a new node may add a domain. A deleted node may remove the domain with
		// the lowest count.
		events: decision.NodeAdded | decision.NodeRemoved | decision.NodeLabelsChanged | decision.NodeTaintsChanged |
			decision.PodAssigned | decision.PodLabelsChanged | decision.PodTerminating | decision.PodRemoved |
			decision.SpreadGroupChanged,
	},
	decision.InterPodAffinity: {
		preFilter: interPodAffinity,
		preScore:  scoreInterPodAffinity,
		// An assigned pod may be the one that the affinity requires.
		events: decision.NodeAdded | decision.NodeLabelsChanged | decision.PodAssigned | decision.PodLabelsChanged |
			decision.PodRemoved | decision.NamespaceLabelsChanged,
	},
	decision.DynamicResources:                {events: decision.ResourceClaimChanged},
	decision.NodeResourcesBalancedAllocation: {preScore: scoreBalancedAllocation},
	decision.ImageLocality:                   {preScore: scoreImageLocality},
	decision.NodeDeclaredFeatures: {
		preFilter: nodeDeclaredFeatures,
		events:    decision.NodeAdded | decision.NodeFeaturesChanged,
	},
	decision.DefaultPreemption: {events: decision.BudgetChanged},
	// Nodes outside of the PreFilter result are not filtered; the plugin that returned the
	// result registers its own events.
	decision.PreFilterResult: {events: decision.NodeAdded},
	decision.HoldAvoid: {
		preFilter: holdAvoid,
		events:    decision.NodeAdded | decision.HoldEnded,
	},
}

// PreFilter runs the PreFilter extension point of a plugin. The result is zero for plugins
// without a filter.
func PreFilter(ev *framework.Evaluation, p decision.Plugin) framework.PreFilterState {
	if f := registry[p].preFilter; f != nil {
		return f(ev)
	}
	return framework.PreFilterState{}
}

// PreScore runs the PreScore extension point of a plugin. The result is zero for plugins
// without a score.
func PreScore(ev *framework.Evaluation, p decision.Plugin, feasible []*framework.CandidateNode) framework.PreScoreState {
	if f := registry[p].preScore; f != nil {
		return f(ev, feasible)
	}
	return framework.PreScoreState{}
}

// Scores reports whether a plugin has a score function.
func Scores(p decision.Plugin) bool { return registry[p].preScore != nil }

// Filters reports whether a plugin has a filter function.
func Filters(p decision.Plugin) bool { return registry[p].preFilter != nil }

// Events returns the cluster events that may make a pod schedulable that a plugin rejected.
// Updates of the pod itself always may, and are not included.
func Events(p decision.Plugin) decision.ClusterEvents {
	if p < decision.NumPlugins {
		return registry[p].events
	}
	return decision.NoEvent
}

// EventsToRegister returns the events of a set of plugins. For the empty set it returns all
// events, because any of them may undo the rejection.
func EventsToRegister(rejectedBy decision.PluginSet) decision.ClusterEvents {
	if rejectedBy == 0 {
		return decision.AnyEvent
	}
	var events decision.ClusterEvents
	for p := decision.NoPlugin; p < decision.NumPlugins; p++ {
		if rejectedBy.Has(p) {
			events |= registry[p].events
		}
	}
	return events
}
