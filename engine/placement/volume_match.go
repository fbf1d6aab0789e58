package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// volumeFor is the volume that a claim gets on a node: one reserved for it, else
// the smallest free one that will do, by name among equals; nil when there is
// none. taken are the volumes that other claims of the pod get.
func (a *attempt) volumeFor(claim *model.PersistentVolumeClaim, n *model.Node, taken []model.ClaimVolume) *model.PersistentVolume {
	for _, v := range a.state.VolumesFor(claim.Namespace, claim.Name) {
		if v.Class != claim.ClassName() || v.Claim.UID != "" && v.Claim.UID != claim.UID || !suits(v, claim, taken) {
			continue
		}
		if !v.Affinity.Admits(n) {
			return nil // what is reserved elsewhere is not replaced
		}
		return v
	}
	var best *model.PersistentVolume
	for _, v := range a.state.FreeVolumes(claim.ClassName()) {
		if best != nil && best.Capacity <= v.Capacity {
			continue
		}
		if suits(v, claim, taken) && available(v, claim) && v.Affinity.Admits(n) {
			best = v
		}
	}
	return best
}

// suits says whether a volume could hold what a claim asks for.
func suits(v *model.PersistentVolume, claim *model.PersistentVolumeClaim, taken []model.ClaimVolume) bool {
	return !v.Deleting && v.Capacity >= claim.Request && v.Block == claim.Block &&
		v.ClassAttr == claim.ClassAttr && !slices.ContainsFunc(taken, func(t model.ClaimVolume) bool { return t.Volume.Name == v.Name })
}

// available says whether a volume that is not reserved may be given to a claim.
func available(v *model.PersistentVolume, claim *model.PersistentVolumeClaim) bool {
	return v.Phase == "Available" && claim.Modes&^v.Modes == 0 &&
		(claim.Selector == nil || claim.Selector.Matches(v.Labels))
}

// provisionable says what keeps a volume from being made for a claim on a node;
// NoReason when nothing does.
func (a *attempt) provisionable(claim *model.PersistentVolumeClaim, n *model.Node) decision.Why {
	class, ok := a.state.StorageClass(claim.ClassName())
	if !ok || class.Provisioner == "" || class.Provisioner == noProvisioner {
		return decision.WhyNoVolumeToBind
	}
	if len(class.Topologies) > 0 && !slices.ContainsFunc(class.Topologies, func(t model.NodeTerm) bool { return t.Matches(n.Labels, n.Name) }) {
		return decision.WhyNoVolumeToBind
	}
	if found, asked := a.roomFor(claim, class, n); asked && found == nil {
		return decision.WhyNoStorage
	}
	return decision.NoReason
}

// roomFor asks the published capacities, for drivers that want that: the first that is
// enough for a claim on a node, or nil.
func (a *attempt) roomFor(claim *model.PersistentVolumeClaim, class *model.StorageClass, n *model.Node) (found *model.CSIStorageCapacity, asked bool) {
	d, ok := a.state.CSIDriver(class.Provisioner)
	if !ok || !d.StorageCapacity || claim.Request == 0 {
		return nil, false
	}
	for _, c := range a.state.StorageCapacities(class.Name) {
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
