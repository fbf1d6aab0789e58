package placement

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// noProvisioner is the provisioner of classes whose volumes are made by hand.
const noProvisioner = "kubernetes.io/no-provisioner"

// podVolumes are a pod's claims by how far they are.
type podVolumes struct {
	bound   []*model.PersistentVolumeClaim // have their volume
	waiting []*model.PersistentVolumeClaim // to be matched or provisioned, smallest first
	chosen  []*model.PersistentVolumeClaim // to be provisioned for a node that was chosen before
}

// claimsOf sorts the pod's claims; refusal says why no node can do.
func (a *attempt) claimsOf() (pv *podVolumes, refusal string, err error) {
	pv = &podVolumes{}
	immediate := false
	for i := range a.pod.Spec.Claims {
		c := &a.pod.Spec.Claims[i]
		claim, ok := a.state.PVC(a.pod.Namespace, c.Claim)
		if text := unusable(a.pod, c, claim, ok); text != "" {
			return nil, text, nil
		}
		class, _ := a.state.StorageClass(claim.ClassName())
		switch {
		case claim.Volume != "" && claim.Bound:
			pv.bound = append(pv.bound, claim)
		case class == nil || !class.WaitForFirstConsumer || claim.Volume != "":
			immediate = true
		case claim.HasNode:
			pv.chosen = append(pv.chosen, claim)
		default:
			pv.waiting = append(pv.waiting, claim)
		}
	}
	if immediate {
		return nil, "pod has unbound immediate PersistentVolumeClaims", nil
	}
	for _, claim := range pv.waiting {
		if claim.Fault != "" {
			return nil, "", fmt.Errorf("error creating internal label selector for claim: %s/%s: %s", claim.Namespace, claim.Name, claim.Fault)
		}
	}
	slices.SortStableFunc(pv.waiting, func(a, b *model.PersistentVolumeClaim) int { return cmp.Compare(a.Request, b.Request) })
	return pv, "", nil
}

// volumeBinding rejects nodes that the pod's bound volumes cannot be reached
// from, and nodes where its unbound claims find neither a free volume nor a
// provisioner with the topology and the room.
func (a *attempt) volumeBinding() compiled {
	if len(a.pod.Spec.Claims) == 0 {
		return compiled{}
	}
	pv, refusal, err := a.claimsOf()
	switch {
	case err != nil:
		return compiled{err: err}
	case refusal != "":
		return refuses(refusal)
	}
	return compiled{judge: func(st *site) decision.Verdict { return a.bindable(pv, st.node) }}
}

// unusable says why a claim cannot be used by the pod at all.
func unusable(pod *model.Pod, c *model.PodClaim, claim *model.PersistentVolumeClaim, found bool) string {
	switch {
	case !found && c.Ephemeral:
		return fmt.Sprintf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", c.Claim)
	case !found:
		return missingClaim(c.Claim)
	case claim.Lost:
		return fmt.Sprintf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", claim.Name, claim.Volume)
	case claim.Deleting:
		return fmt.Sprintf("persistentvolumeclaim %q is being deleted", claim.Name)
	case c.Ephemeral && !ownedBy(claim, pod):
		return foreignClaim(claim, pod)
	}
	return ""
}

// ownedBy says whether a pod controls a claim, as it must one that was made for
// its ephemeral volume.
func ownedBy(claim *model.PersistentVolumeClaim, pod *model.Pod) bool {
	return claim.Owner != model.Owner{} && claim.Owner.UID == pod.UID
}

func foreignClaim(claim *model.PersistentVolumeClaim, pod *model.Pod) string {
	return fmt.Sprintf("PVC %s/%s was not created for pod %s (pod is not owner)", claim.Namespace, claim.Name, pod.Key())
}

// bindable judges a node by all claims. Bound and unbound ones give a reason each.
func (a *attempt) bindable(pv *podVolumes, n *model.Node) decision.Verdict {
	var reasons []decision.Reason
	if why := a.reachable(pv.bound, n); why.Why != decision.NoReason {
		reasons = append(reasons, why)
	}
	if len(pv.chosen)+len(pv.waiting) > 0 {
		if _, why := a.obtain(pv, n); why.Why != decision.NoReason {
			reasons = append(reasons, why)
		}
	}
	if len(reasons) == 0 {
		return decision.Verdict{}
	}
	return decision.Verdict{Code: decision.Unresolvable, Reasons: reasons}
}

// reachable says which bound volume cannot be used from a node.
func (a *attempt) reachable(bound []*model.PersistentVolumeClaim, n *model.Node) decision.Reason {
	for _, claim := range bound {
		v, ok := a.state.PV(claim.Volume)
		if !ok {
			return decision.Reason{Why: decision.WhyVolumeGone, Subject: claim.Volume, Who: claim.Name}
		}
		affinity := v.Affinity
		if csi, ok := a.state.CSINode(n.Name); ok && v.CSI.InTree != "" && slices.Contains(csi.Migrated, v.CSI.InTree) {
			affinity = v.Migrated
			if v.MigrationFault != "" {
				a.failed = fmt.Sprintf("running %q filter plugin: could not translate pv: %s", decision.VolumeBinding, v.MigrationFault)
			}
		}
		if !affinity.Admits(n) {
			return decision.Reason{Why: decision.WhyVolumeAffinity, Subject: v.Name, Who: claim.Name}
		}
	}
	return decision.Reason{}
}
