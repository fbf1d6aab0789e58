package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// hintOther is Helps for what is neither a pod nor a node, nor of one node.
func (w *QueueingHints) hintOther(plugins decision.PluginSet, d *decision.Delta) bool {
	switch deltaObject(d).(type) {
	case *model.SpreadGroup:
		return w.isSpreadGroup(plugins, d)
	case *model.Namespace:
		return plugins.Has(decision.InterPodAffinity)
	case *model.Budget:
		return plugins.Has(decision.DefaultPreemption) && allowsMoreDisruptions(d)
	case *model.ResourceClaim:
		old, _ := d.Old.(*model.ResourceClaim)
		now, _ := d.New.(*model.ResourceClaim)
		return plugins.Has(decision.DynamicResources) && (w.usesResourceClaim(old) || w.usesResourceClaim(now))
	case *model.PersistentVolumeClaim:
		return w.hintPVC(plugins, d)
	case *model.PersistentVolume:
		return w.hintPV(plugins, d)
	case *model.StorageClass:
		name := deltaObject(d).(*model.StorageClass).Name
		return plugins.Has(decision.NodeVolumeLimits) || plugins&volumePluginSet != 0 && w.anyPVC(func(c *model.PersistentVolumeClaim) bool { return c.ClassName() == name })
	case *model.CSIDriver:
		return plugins&(1<<decision.NodeVolumeLimits|1<<decision.VolumeBinding) != 0
	case *model.CSIStorageCapacity:
		old, _ := d.Old.(*model.CSIStorageCapacity)
		now, _ := d.New.(*model.CSIStorageCapacity)
		return plugins.Has(decision.VolumeBinding) && w.anyPVC(func(c *model.PersistentVolumeClaim) bool {
			return old != nil && c.ClassName() == old.Class || now != nil && c.ClassName() == now.Class
		})
	}
	return true // not known here
}

// allowsMoreDisruptions says whether a budget allows more than it did. That makes no victim possible that
// was none before, but may undo the refusal of a choice.
func allowsMoreDisruptions(d *decision.Delta) bool {
	old, _ := d.Old.(*model.Budget)
	now, _ := d.New.(*model.Budget)
	return old != nil && (now == nil || now.DisruptionsAllowed > old.DisruptionsAllowed)
}

// isSpreadGroup says whether a group says, or said, by what the pod is spread.
func (w *QueueingHints) isSpreadGroup(plugins decision.PluginSet, d *decision.Delta) bool {
	pod := w.a.pod
	if !plugins.Has(decision.PodTopologySpread) || len(pod.Spec.Spread) > 0 {
		return false
	}
	of := func(object any) bool {
		g, _ := object.(*model.SpreadGroup)
		return g != nil && g.Namespace == pod.Namespace && (isServiceOf(g, pod) || isControllerOf(g, pod))
	}
	return of(d.Old) || of(d.New)
}

// usesResourceClaim says whether the pod names a claim on devices.
func (w *QueueingHints) usesResourceClaim(c *model.ResourceClaim) bool {
	return c != nil && c.Namespace == w.a.pod.Namespace &&
		slices.ContainsFunc(w.a.pod.Spec.ResourceClaims, func(r model.PodResourceClaim) bool { return r.Claim == c.Name })
}

// anyPVC says whether one of the pod's claims that are known is so.
func (w *QueueingHints) anyPVC(so func(*model.PersistentVolumeClaim) bool) bool {
	return slices.ContainsFunc(w.a.pod.Spec.Claims, func(c model.PodClaim) bool {
		claim, ok := w.e.state.PVC(w.a.pod.Namespace, c.Claim)
		return ok && so(claim)
	})
}

// hintPVC: the pod's own claims matter, and to attach limits all that pods use.
func (w *QueueingHints) hintPVC(plugins decision.PluginSet, d *decision.Delta) bool {
	if plugins.Has(decision.NodeVolumeLimits) {
		return true
	}
	c := deltaObject(d).(*model.PersistentVolumeClaim)
	return plugins&volumePluginSet != 0 && c.Namespace == w.a.pod.Namespace &&
		slices.ContainsFunc(w.a.pod.Spec.Claims, func(p model.PodClaim) bool { return p.Claim == c.Name })
}

// hintPV: those matter that the pod's claims have, may get, or could not get
// anything else for.
func (w *QueueingHints) hintPV(plugins decision.PluginSet, d *decision.Delta) bool {
	if plugins.Has(decision.NodeVolumeLimits) {
		return true
	}
	if plugins&volumePluginSet == 0 {
		return false
	}
	of := func(object any) bool {
		v, _ := object.(*model.PersistentVolume)
		return v != nil && w.anyPVC(func(c *model.PersistentVolumeClaim) bool {
			return c.VolumeName == v.Name || c.VolumeName == "" && (v.Claim == (model.ClaimRef{}) && v.Class == c.ClassName() ||
				v.Claim.Namespace == c.Namespace && v.Claim.Name == c.Name)
		})
	}
	return of(d.Old) || of(d.New)
}

// hintAttachment is Helps for what says which volumes a node can have, or has.
func (w *QueueingHints) hintAttachment(plugins decision.PluginSet, d *decision.Delta) (decision.QueueingHint, string, decision.PluginSet) {
	if plugins&(1<<decision.NodeVolumeLimits|1<<decision.VolumeBinding) == 0 {
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
	was, is := node(d.Old), node(d.New)
	if was == "" && is == "" || was != "" && is != "" && was != is {
		return decision.QueueForAnyNode, "", 0
	}
	return w.hintForNode(plugins, max(was, is))
}
