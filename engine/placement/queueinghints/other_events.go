package queueinghints

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// hintOther reports whether an event of an object other than a pod or node may make the pod schedulable.
func (h *Hints) hintOther(rejectedBy decision.PluginSet, d *decision.Delta) bool {
	switch o := deltaObject(d).(type) {
	case *model.SpreadGroup:
		return h.usesSpreadGroup(rejectedBy, d)
	case *model.Namespace:
		return rejectedBy.Has(decision.InterPodAffinity)
	case *model.Budget:
		return rejectedBy.Has(decision.DefaultPreemption) && allowsMoreDisruptions(d)
	case *model.ResourceClaim:
		old, _ := d.Old.(*model.ResourceClaim)
		current, _ := d.New.(*model.ResourceClaim)
		return rejectedBy.Has(decision.DynamicResources) && (h.usesResourceClaim(old) || h.usesResourceClaim(current))
	case *model.PersistentVolumeClaim:
		return h.hintPVC(rejectedBy, d)
	case *model.PersistentVolume:
		return h.hintPV(rejectedBy, d)
	case *model.StorageClass:
		return rejectedBy.Has(decision.NodeVolumeLimits) || rejectedBy&volumePluginSet != 0 && h.anyPVC(func(c *model.PersistentVolumeClaim) bool { return c.ClassName() == o.Name })
	case *model.CSIDriver:
		return rejectedBy&(1<<decision.NodeVolumeLimits|1<<decision.VolumeBinding) != 0
	case *model.CSIStorageCapacity:
		old, _ := d.Old.(*model.CSIStorageCapacity)
		current, _ := d.New.(*model.CSIStorageCapacity)
		return rejectedBy.Has(decision.VolumeBinding) && h.anyPVC(func(c *model.PersistentVolumeClaim) bool {
			return old != nil && c.ClassName() == old.Class || current != nil && c.ClassName() == current.Class
		})
	}
	return true // unknown object type
}

// allowsMoreDisruptions reports whether a budget allows more disruptions than before. This
// does not add potential victims, but the selected ones may be evicted.
func allowsMoreDisruptions(d *decision.Delta) bool {
	old, _ := d.Old.(*model.Budget)
	current, _ := d.New.(*model.Budget)
	return old != nil && (current == nil || current.DisruptionsAllowed > old.DisruptionsAllowed)
}

// usesSpreadGroup reports whether default topology spreading of the pod uses a group, before
// or after the event.
func (h *Hints) usesSpreadGroup(rejectedBy decision.PluginSet, d *decision.Delta) bool {
	pod := h.ev.Pod
	if !rejectedBy.Has(decision.PodTopologySpread) || len(pod.Spec.Spread) > 0 {
		return false
	}
	isGroupOfPod := func(object any) bool {
		g, _ := object.(*model.SpreadGroup)
		return g != nil && g.Namespace == pod.Namespace && (framework.IsServiceOf(g, pod) || framework.IsControllerOf(g, pod))
	}
	return isGroupOfPod(d.Old) || isGroupOfPod(d.New)
}

func (h *Hints) usesResourceClaim(c *model.ResourceClaim) bool {
	return c != nil && c.Namespace == h.ev.Pod.Namespace &&
		slices.ContainsFunc(h.ev.Pod.Spec.ResourceClaims, func(r model.PodResourceClaim) bool { return r.Claim == c.Name })
}

// anyPVC reports whether match returns true for one of the pod's existing claims.
func (h *Hints) anyPVC(match func(*model.PersistentVolumeClaim) bool) bool {
	return slices.ContainsFunc(h.ev.Pod.Spec.Claims, func(c model.PodClaim) bool {
		claim, ok := h.provider.state.PVC(h.ev.Pod.Namespace, c.Claim)
		return ok && match(claim)
	})
}

// hintPVC reports whether an event of a claim may make the pod schedulable. A claim of the pod may, and
// any claim for attach limits.
func (h *Hints) hintPVC(rejectedBy decision.PluginSet, d *decision.Delta) bool {
	if rejectedBy.Has(decision.NodeVolumeLimits) {
		return true
	}
	c := deltaObject(d).(*model.PersistentVolumeClaim)
	return rejectedBy&volumePluginSet != 0 && c.Namespace == h.ev.Pod.Namespace &&
		slices.ContainsFunc(h.ev.Pod.Spec.Claims, func(p model.PodClaim) bool { return p.Claim == c.Name })
}

// hintPV reports whether an event of a volume may make the pod schedulable. A volume to which a claim of the
// pod is or can be bound may, and any volume for attach limits.
func (h *Hints) hintPV(rejectedBy decision.PluginSet, d *decision.Delta) bool {
	if rejectedBy.Has(decision.NodeVolumeLimits) {
		return true
	}
	if rejectedBy&volumePluginSet == 0 {
		return false
	}
	isForPod := func(object any) bool {
		v, _ := object.(*model.PersistentVolume)
		return v != nil && h.anyPVC(func(c *model.PersistentVolumeClaim) bool {
			return c.VolumeName == v.Name || c.VolumeName == "" && (v.Claim == (model.ClaimRef{}) && v.Class == c.ClassName() ||
				v.Claim.Namespace == c.Namespace && v.Claim.Name == c.Name)
		})
	}
	return isForPod(d.Old) || isForPod(d.New)
}

// hintAttachment returns the hint for an event of a CSINode or VolumeAttachment.
func (h *Hints) hintAttachment(rejectedBy decision.PluginSet, d *decision.Delta) (decision.QueueingHint, string, decision.PluginSet) {
	if rejectedBy&(1<<decision.NodeVolumeLimits|1<<decision.VolumeBinding) == 0 {
		return decision.QueueSkip, "", 0
	}
	node := func(object any) string {
		switch o := object.(type) {
		case *model.CSINode:
			return o.Name
		case *model.VolumeAttachment:
			return o.Node
		}
		return ""
	}
	before, after := node(d.Old), node(d.New)
	if before == "" && after == "" || before != "" && after != "" && before != after {
		return decision.QueueForAnyNode, "", 0
	}
	return h.hintForNode(max(before, after))
}
