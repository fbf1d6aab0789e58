package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// helpsOther is Helps for what is neither a pod nor a node, nor of one node.
func (w *Waiter) helpsOther(rules decision.RuleSet, d *decision.Delta) bool {
	switch object(d).(type) {
	case *model.Group:
		return w.deduces(rules, d)
	case *model.Namespace:
		return rules.Has(decision.InterPodAffinity)
	case *model.Budget:
		return rules.Has(decision.DefaultPreemption) && loosened(d)
	case *model.ResourceClaim:
		old, _ := d.Old.(*model.ResourceClaim)
		now, _ := d.New.(*model.ResourceClaim)
		return rules.Has(decision.DynamicResources) && (w.uses(old) || w.uses(now))
	case *model.PersistentVolumeClaim:
		return w.helpsClaim(rules, d)
	case *model.PersistentVolume:
		return w.helpsVolume(rules, d)
	case *model.StorageClass:
		name := object(d).(*model.StorageClass).Name
		return rules.Has(decision.NodeVolumeLimits) || rules&volumeRules != 0 && w.anyClaim(func(c *model.PersistentVolumeClaim) bool { return c.ClassName() == name })
	case *model.CSIDriver:
		return rules&(1<<decision.NodeVolumeLimits|1<<decision.VolumeBinding) != 0
	case *model.CSIStorageCapacity:
		old, _ := d.Old.(*model.CSIStorageCapacity)
		now, _ := d.New.(*model.CSIStorageCapacity)
		return rules.Has(decision.VolumeBinding) && w.anyClaim(func(c *model.PersistentVolumeClaim) bool {
			return old != nil && c.ClassName() == old.Class || now != nil && c.ClassName() == now.Class
		})
	}
	return true // not known here
}

// loosened says whether a budget allows more than it did. That makes no victim possible that
// was none before, but may undo the refusal of a choice.
func loosened(d *decision.Delta) bool {
	old, _ := d.Old.(*model.Budget)
	now, _ := d.New.(*model.Budget)
	return old != nil && (now == nil || now.DisruptionsAllowed > old.DisruptionsAllowed)
}

// deduces says whether a group says, or said, by what the pod is spread.
func (w *Waiter) deduces(rules decision.RuleSet, d *decision.Delta) bool {
	pod := w.a.pod
	if !rules.Has(decision.PodTopologySpread) || len(pod.Spec.Spread) > 0 {
		return false
	}
	of := func(object any) bool {
		g, _ := object.(*model.Group)
		return g != nil && g.Namespace == pod.Namespace && (serves(g, pod) || controls(g, pod))
	}
	return of(d.Old) || of(d.New)
}

// uses says whether the pod names a claim on devices.
func (w *Waiter) uses(c *model.ResourceClaim) bool {
	return c != nil && c.Namespace == w.a.pod.Namespace &&
		slices.ContainsFunc(w.a.pod.Spec.ResourceClaims, func(r model.PodResourceClaim) bool { return r.Claim == c.Name })
}

// anyClaim says whether one of the pod's claims that are known is so.
func (w *Waiter) anyClaim(so func(*model.PersistentVolumeClaim) bool) bool {
	return slices.ContainsFunc(w.a.pod.Spec.Claims, func(c model.PodClaim) bool {
		claim, ok := w.e.state.PVC(w.a.pod.Namespace, c.Claim)
		return ok && so(claim)
	})
}

// helpsClaim: the pod's own claims matter, and to attach limits all that pods use.
func (w *Waiter) helpsClaim(rules decision.RuleSet, d *decision.Delta) bool {
	if rules.Has(decision.NodeVolumeLimits) {
		return true
	}
	c := object(d).(*model.PersistentVolumeClaim)
	return rules&volumeRules != 0 && c.Namespace == w.a.pod.Namespace &&
		slices.ContainsFunc(w.a.pod.Spec.Claims, func(p model.PodClaim) bool { return p.Claim == c.Name })
}

// helpsVolume: those matter that the pod's claims have, may get, or could not get
// anything else for.
func (w *Waiter) helpsVolume(rules decision.RuleSet, d *decision.Delta) bool {
	if rules.Has(decision.NodeVolumeLimits) {
		return true
	}
	if rules&volumeRules == 0 {
		return false
	}
	of := func(object any) bool {
		v, _ := object.(*model.PersistentVolume)
		return v != nil && w.anyClaim(func(c *model.PersistentVolumeClaim) bool {
			return c.Volume == v.Name || c.Volume == "" && (v.Claim == (model.ClaimRef{}) && v.Class == c.ClassName() ||
				v.Claim.Namespace == c.Namespace && v.Claim.Name == c.Name)
		})
	}
	return of(d.Old) || of(d.New)
}

// helpsAttach is Helps for what says which volumes a node can have, or has.
func (w *Waiter) helpsAttach(rules decision.RuleSet, d *decision.Delta) (decision.Help, string, decision.RuleSet) {
	if rules&(1<<decision.NodeVolumeLimits|1<<decision.VolumeBinding) == 0 {
		return decision.Helpless, "", 0
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
		return decision.HelpsAnywhere, "", 0
	}
	return w.at(rules, max(was, is))
}
