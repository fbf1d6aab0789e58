package placement

import "github.com/berthproject/berth/engine/decision"

// eventsToRegister says which kinds of changes can undo a rule's rejection.
var eventsToRegister = [decision.NumPlugins]decision.ClusterEvents{
	decision.NoPlugin:           decision.AnyEvent, // somebody outside of the house
	decision.SchedulingGates:    decision.NoEvent,  // only the pod's own update, which the queue knows
	decision.NodeUnschedulable:  decision.NodeAdded | decision.NodeUncordoned,
	decision.NodeName:           decision.NodeAdded,
	decision.TaintToleration:    decision.NodeAdded | decision.NodeTaintsChanged,
	decision.NodeAffinity:       decision.NodeAdded | decision.NodeLabelsChanged,
	decision.NodePorts:          decision.NodeAdded | decision.PodRemoved,
	decision.NodeResourcesFit:   decision.NodeAdded | decision.NodeAllocatableChanged | decision.PodRemoved | decision.PodScaledDown,
	decision.VolumeRestrictions: decision.NodeAdded | decision.PodRemoved | decision.PVCChanged,
	// A pod that comes may bring a volume that then costs nothing.
	decision.NodeVolumeLimits: decision.NodeAdded | decision.PodRemoved | decision.PodAssigned | decision.CSINodeChanged | decision.CSIDriverChanged |
		decision.PVCChanged | decision.PVChanged | decision.StorageClassChanged | decision.VolumeAttachmentChanged,
	decision.VolumeBinding: decision.NodeAdded | decision.NodeLabelsChanged | decision.PVCChanged | decision.PVChanged |
		decision.StorageClassChanged | decision.CSINodeChanged | decision.CSIDriverChanged | decision.CSIStorageCapacityChanged,
	decision.VolumeZone: decision.NodeAdded | decision.NodeLabelsChanged | decision.PVCChanged | decision.PVChanged | decision.StorageClassChanged,
	// A pod may fill the emptiest domain, a node may make one, or take the one
	// that held the minimum down.
	decision.PodTopologySpread: decision.NodeAdded | decision.NodeRemoved | decision.NodeLabelsChanged | decision.NodeTaintsChanged |
		decision.PodAssigned | decision.PodLabelsChanged | decision.PodTerminating | decision.PodRemoved | decision.SpreadGroupChanged,
	// A pod that comes may be the one that the affinity asks for.
	decision.InterPodAffinity: decision.NodeAdded | decision.NodeLabelsChanged | decision.PodAssigned | decision.PodLabelsChanged |
		decision.PodRemoved | decision.NamespaceLabelsChanged,
	decision.DynamicResources:     decision.ResourceClaimChanged,
	decision.NodeDeclaredFeatures: decision.NodeAdded | decision.NodeFeaturesChanged,
	decision.GangScheduling:       decision.NoEvent, // groups are held until the pod itself changes
	decision.DefaultPreemption:    decision.BudgetChanged,
	// Nodes outside of the names were never judged; the rule that narrowed wakes.
	decision.PreFilterResult: decision.NodeAdded,
	decision.HoldAvoid:       decision.NodeAdded | decision.HoldEnded,
}

// EventsOfPlugin says which kinds of changes in the cluster can undo a rejection by the
// rule. Changes of the pod itself are not among them: they always can.
func EventsOfPlugin(r decision.Plugin) decision.ClusterEvents {
	if r < decision.NumPlugins {
		return eventsToRegister[r]
	}
	return decision.NoEvent
}

// EventsToRegister is Wakes of a set of rules. For the empty set it is any change, since
// nobody said what was wrong.
func EventsToRegister(plugins decision.PluginSet) decision.ClusterEvents {
	if plugins == 0 {
		return decision.AnyEvent
	}
	var c decision.ClusterEvents
	for r := decision.NoPlugin; r < decision.NumPlugins; r++ {
		if plugins.Has(r) {
			c |= eventsToRegister[r]
		}
	}
	return c
}
