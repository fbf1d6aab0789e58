package plugins

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// findVolume is the volume that a claim gets on a node: one reserved for it, else
// the smallest free one that will do, by name among equals; nil when there is
// none. taken are the volumes that other claims of the pod get.
func findVolume(ev *framework.Evaluation, claim *model.PersistentVolumeClaim, n *model.Node, taken []model.ClaimVolume) *model.PersistentVolume {
	for _, v := range ev.State.VolumesFor(claim.Namespace, claim.Name) {
		if v.Class != claim.ClassName() || v.Claim.UID != "" && v.Claim.UID != claim.UID || !volumeSatisfies(v, claim, taken) {
			continue
		}
		if !v.Affinity.Matches(n) {
			return nil // what is reserved elsewhere is not replaced
		}
		return v
	}
	var best *model.PersistentVolume
	for _, v := range ev.State.FreeVolumes(claim.ClassName()) {
		if best != nil && best.Capacity <= v.Capacity {
			continue
		}
		if volumeSatisfies(v, claim, taken) && volumeAvailable(v, claim) && v.Affinity.Matches(n) {
			best = v
		}
	}
	return best
}

// volumeSatisfies says whether a volume could hold what a claim asks for.
func volumeSatisfies(v *model.PersistentVolume, claim *model.PersistentVolumeClaim, taken []model.ClaimVolume) bool {
	return !v.Deleting && v.Capacity >= claim.Request && v.Block == claim.Block &&
		v.AttributesClass == claim.AttributesClass && !slices.ContainsFunc(taken, func(t model.ClaimVolume) bool { return t.Volume.Name == v.Name })
}

// volumeAvailable says whether a volume that is not reserved may be given to a claim.
func volumeAvailable(v *model.PersistentVolume, claim *model.PersistentVolumeClaim) bool {
	return v.Phase == "Available" && claim.AccessModes&^v.AccessModes == 0 &&
		(claim.Selector == nil || claim.Selector.Matches(v.Labels))
}

// checkProvisioning says what keeps a volume from being made for a claim on a node;
// NoReason when nothing does.
func checkProvisioning(ev *framework.Evaluation, claim *model.PersistentVolumeClaim, n *model.Node) decision.ReasonKind {
	class, ok := ev.State.StorageClass(claim.ClassName())
	if !ok || class.Provisioner == "" || class.Provisioner == NoProvisioner {
		return decision.ReasonNoVolumeToBind
	}
	if len(class.Topologies) > 0 && !slices.ContainsFunc(class.Topologies, func(t model.NodeSelectorTerm) bool { return t.Matches(n.Labels, n.Name) }) {
		return decision.ReasonNoVolumeToBind
	}
	if found, applies := findCapacity(ev, claim, class, n); applies && found == nil {
		return decision.ReasonNoStorage
	}
	return decision.NoReason
}

// findCapacity asks the published capacities, for drivers that want that: the first that is
// enough for a claim on a node, or nil.
func findCapacity(ev *framework.Evaluation, claim *model.PersistentVolumeClaim, class *model.StorageClass, n *model.Node) (found *model.CSIStorageCapacity, applies bool) {
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
