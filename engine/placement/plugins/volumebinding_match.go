package plugins

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// findVolume returns the volume for a claim on a node: one reserved for it, or else the
// smallest matching free one. Among equals the first by name is chosen. It returns nil if
// there is none. planned are the volumes for other claims of the pod.
func findVolume(ev *framework.Evaluation, claim *model.PersistentVolumeClaim, n *model.Node, planned []model.ClaimVolume) *model.PersistentVolume {
	for _, v := range ev.State.VolumesFor(claim.Namespace, claim.Name) {
		if v.Class != claim.ClassName() || v.Claim.UID != "" && v.Claim.UID != claim.UID || !volumeSatisfies(v, claim, planned) {
			continue
		}
		if !v.Affinity.Matches(n) {
			return nil // a reserved volume is not replaced
		}
		return v
	}
	var best *model.PersistentVolume
	for _, v := range ev.State.FreeVolumes(claim.ClassName()) {
		if best != nil && best.Capacity <= v.Capacity {
			continue
		}
		if volumeSatisfies(v, claim, planned) && volumeAvailable(v, claim) && v.Affinity.Matches(n) {
			best = v
		}
	}
	return best
}

// volumeSatisfies reports whether a volume has the size, mode and class that a claim
// requires, and is not planned for another claim.
func volumeSatisfies(v *model.PersistentVolume, claim *model.PersistentVolumeClaim, planned []model.ClaimVolume) bool {
	return !v.Deleting && v.Capacity >= claim.Request && v.Block == claim.Block &&
		v.AttributesClass == claim.AttributesClass && !slices.ContainsFunc(planned, func(t model.ClaimVolume) bool { return t.Volume.Name == v.Name })
}

// volumeAvailable reports whether an unreserved volume may be bound to a claim.
func volumeAvailable(v *model.PersistentVolume, claim *model.PersistentVolumeClaim) bool {
	return v.Phase == "Available" && claim.AccessModes&^v.AccessModes == 0 &&
		(claim.Selector == nil || claim.Selector.Matches(v.Labels))
}

// checkProvisioning returns why no volume can be provisioned for a claim on a node, or
// NoReason.
func checkProvisioning(ev *framework.Evaluation, claim *model.PersistentVolumeClaim, n *model.Node) decision.ReasonKind {
	class, ok := ev.State.StorageClass(claim.ClassName())
	if !ok || class.Provisioner == "" || class.Provisioner == NoProvisioner {
		return decision.ReasonNoVolumeToBind
	}
	if len(class.Topologies) > 0 && !slices.ContainsFunc(class.Topologies, func(t model.NodeSelectorTerm) bool { return t.Matches(n.Labels, n.Name) }) {
		return decision.ReasonNoVolumeToBind
	}
	if capacity, applies := findCapacity(ev, claim, class, n); applies && capacity == nil {
		return decision.ReasonNoStorage
	}
	return decision.NoReason
}

// findCapacity returns the first CSIStorageCapacity that is sufficient for a claim on a
// node, or nil. applies is false if the driver does not publish capacities.
func findCapacity(ev *framework.Evaluation, claim *model.PersistentVolumeClaim, class *model.StorageClass, n *model.Node) (capacity *model.CSIStorageCapacity, applies bool) {
	d, ok := ev.State.CSIDriver(class.Provisioner)
	if !ok || !d.StorageCapacity || claim.Request == 0 {
		return nil, false
	}
	for _, c := range ev.State.StorageCapacities(class.Name) {
		limit := c.Capacity
		if c.MaxSize != nil {
			limit = c.MaxSize
		}
		if limit != nil && *limit >= claim.Request && c.Topology.Matches(n.Labels) {
			return c, true
		}
	}
	return nil, true
}
