package placement

import "github.com/berthproject/berth/engine/decision"

// wakes says which kinds of changes can undo a rule's rejection.
var wakes = [decision.NumRules]decision.Change{
	decision.NoRule:             decision.AnyChange, // somebody outside of the house
	decision.SchedulingGates:    decision.NoChange,  // only the pod's own update, which the queue knows
	decision.NodeUnschedulable:  decision.NodeAdded | decision.NodeSchedulable,
	decision.NodeName:           decision.NodeAdded,
	decision.TaintToleration:    decision.NodeAdded | decision.NodeTaints,
	decision.NodeAffinity:       decision.NodeAdded | decision.NodeLabels,
	decision.NodePorts:          decision.NodeAdded | decision.PodRemoved,
	decision.NodeResourcesFit:   decision.NodeAdded | decision.NodeAllocatable | decision.PodRemoved | decision.PodScaledDown,
	decision.VolumeRestrictions: decision.NodeAdded | decision.PodRemoved | decision.ClaimChanged,
	// A pod that comes may bring a volume that then costs nothing.
	decision.NodeVolumeLimits: decision.NodeAdded | decision.PodRemoved | decision.PodAssigned | decision.CSINodeChanged | decision.CSIDriverChanged |
		decision.ClaimChanged | decision.VolumeChanged | decision.ClassChanged | decision.AttachmentChanged,
	decision.VolumeBinding: decision.NodeAdded | decision.NodeLabels | decision.ClaimChanged | decision.VolumeChanged |
		decision.ClassChanged | decision.CSINodeChanged | decision.CSIDriverChanged | decision.CapacityChanged,
	decision.VolumeZone: decision.NodeAdded | decision.NodeLabels | decision.ClaimChanged | decision.VolumeChanged | decision.ClassChanged,
	// A pod may fill the emptiest domain, a node may make one, or take the one
	// that held the minimum down.
	decision.PodTopologySpread: decision.NodeAdded | decision.NodeRemoved | decision.NodeLabels | decision.NodeTaints |
		decision.PodAssigned | decision.PodRelabelled | decision.PodLeaving | decision.PodRemoved | decision.GroupChanged,
	// A pod that comes may be the one that the affinity asks for.
	decision.InterPodAffinity: decision.NodeAdded | decision.NodeLabels | decision.PodAssigned | decision.PodRelabelled |
		decision.PodRemoved | decision.NamespaceRelabel,
	decision.DynamicResources:     decision.DevicesChanged,
	decision.NodeDeclaredFeatures: decision.NodeAdded | decision.NodeFeatures,
	decision.GangScheduling:       decision.NoChange, // groups are held until the pod itself changes
	decision.DefaultPreemption:    decision.BudgetChanged,
	// Nodes outside of the names were never judged; the rule that narrowed wakes.
	decision.PreFilterResult: decision.NodeAdded,
	decision.HoldAvoid:       decision.NodeAdded | decision.HoldEnded,
}

// Wakes says which kinds of changes in the cluster can undo a rejection by the
// rule. Changes of the pod itself are not among them: they always can.
func Wakes(r decision.Rule) decision.Change {
	if r < decision.NumRules {
		return wakes[r]
	}
	return decision.NoChange
}

// Cares is Wakes of a set of rules. For the empty set it is any change, since
// nobody said what was wrong.
func Cares(rules decision.RuleSet) decision.Change {
	if rules == 0 {
		return decision.AnyChange
	}
	var c decision.Change
	for r := decision.NoRule; r < decision.NumRules; r++ {
		if rules.Has(r) {
			c |= wakes[r]
		}
	}
	return c
}
