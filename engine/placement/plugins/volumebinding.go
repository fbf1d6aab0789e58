package plugins

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// NoProvisioner is the provisioner of classes with manually created volumes.
const NoProvisioner = "kubernetes.io/no-provisioner"

// podVolumes are a pod's claims by state.
type podVolumes struct {
	bound        []*model.PersistentVolumeClaim // bound to a volume
	waiting      []*model.PersistentVolumeClaim // to be bound or provisioned, smallest first
	provisioning []*model.PersistentVolumeClaim // being provisioned for an already selected node
}

// classifyClaims returns the pod's claims by state. If a claim makes all nodes infeasible,
// rejection is the reason.
func classifyClaims(ev *framework.Evaluation) (pv *podVolumes, rejection string, err error) {
	pv = &podVolumes{}
	immediate := false
	for i := range ev.Pod.Spec.Claims {
		c := &ev.Pod.Spec.Claims[i]
		claim, ok := ev.State.PVC(ev.Pod.Namespace, c.Claim)
		if text := claimError(ev.Pod, c, claim, ok); text != "" {
			return nil, text, nil
		}
		class, _ := ev.State.StorageClass(claim.ClassName())
		switch {
		case claim.VolumeName != "" && claim.Bound:
			pv.bound = append(pv.bound, claim)
		case class == nil || !class.WaitForFirstConsumer || claim.VolumeName != "":
			immediate = true
		case claim.HasSelectedNode:
			pv.provisioning = append(pv.provisioning, claim)
		default:
			pv.waiting = append(pv.waiting, claim)
		}
	}
	if immediate {
		return nil, "pod has unbound immediate PersistentVolumeClaims", nil
	}
	for _, claim := range pv.waiting {
		if claim.SelectorError != "" {
			return nil, "", fmt.Errorf("error creating internal label selector for claim: %s/%s: %s", claim.Namespace, claim.Name, claim.SelectorError)
		}
	}
	slices.SortStableFunc(pv.waiting, func(a, b *model.PersistentVolumeClaim) int { return cmp.Compare(a.Request, b.Request) })
	return pv, "", nil
}

// volumeBinding rejects nodes that cannot use the pod's bound volumes. It also rejects nodes where an unbound claim has
// neither a matching volume nor a provisioner with suitable topology and capacity.
func volumeBinding(ev *framework.Evaluation) framework.PreFilterState {
	if len(ev.Pod.Spec.Claims) == 0 {
		return framework.PreFilterState{}
	}
	pv, rejection, err := classifyClaims(ev)
	switch {
	case err != nil:
		return framework.PreFilterState{Err: err}
	case rejection != "":
		return rejectAllNodes(rejection)
	}
	return framework.PreFilterState{Filter: func(candidate *framework.CandidateNode) decision.Verdict {
		return filterVolumeBinding(ev, pv, candidate.Node)
	}}
}

// claimError returns why the pod cannot use a claim; empty if it can.
func claimError(pod *model.Pod, c *model.PodClaim, claim *model.PersistentVolumeClaim, found bool) string {
	switch {
	case !found && c.Ephemeral:
		return fmt.Sprintf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", c.Claim)
	case !found:
		return notFoundMessage(c.Claim)
	case claim.Lost:
		return fmt.Sprintf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", claim.Name, claim.VolumeName)
	case claim.Deleting:
		return fmt.Sprintf("persistentvolumeclaim %q is being deleted", claim.Name)
	case c.Ephemeral && !isOwnedByPod(claim, pod):
		return notOwnerMessage(claim, pod)
	}
	return ""
}

// isOwnedByPod reports whether a pod controls a claim, as required for an ephemeral
// volume.
func isOwnedByPod(claim *model.PersistentVolumeClaim, pod *model.Pod) bool {
	return claim.Owner != model.Owner{} && claim.Owner.UID == pod.UID
}

func notOwnerMessage(claim *model.PersistentVolumeClaim, pod *model.Pod) string {
	return fmt.Sprintf("PVC %s/%s was not created for pod %s (pod is not owner)", claim.Namespace, claim.Name, pod.Key())
}

// filterVolumeBinding checks all claims on a node. Bound and unbound claims give at
// most one reason each.
func filterVolumeBinding(ev *framework.Evaluation, pv *podVolumes, n *model.Node) decision.Verdict {
	var reasons []decision.Reason
	if reason := unreachableVolume(ev, pv.bound, n); reason.Kind != decision.NoReason {
		reasons = append(reasons, reason)
	}
	if len(pv.provisioning)+len(pv.waiting) > 0 {
		if _, reason := planVolumes(ev, pv, n); reason.Kind != decision.NoReason {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) == 0 {
		return decision.Verdict{}
	}
	return decision.Verdict{Code: decision.UnschedulableAndUnresolvable, Reasons: reasons}
}

// unreachableVolume returns why a node cannot use one of the bound volumes; zero if it can
// use all of them.
func unreachableVolume(ev *framework.Evaluation, bound []*model.PersistentVolumeClaim, n *model.Node) decision.Reason {
	for _, claim := range bound {
		v, ok := ev.State.PV(claim.VolumeName)
		if !ok {
			return decision.Reason{Kind: decision.ReasonVolumeNotFound, Subject: claim.VolumeName, Object: claim.Name}
		}
		affinity := v.Affinity
		if csi, ok := ev.State.CSINode(n.Name); ok && v.CSI.InTree != "" && slices.Contains(csi.Migrated, v.CSI.InTree) {
			affinity = v.Migrated
			if v.MigrationError != "" {
				ev.Err = fmt.Sprintf("running %q filter plugin: could not translate pv: %s", decision.VolumeBinding, v.MigrationError)
			}
		}
		if !affinity.Matches(n) {
			return decision.Reason{Kind: decision.ReasonVolumeAffinity, Subject: v.Name, Object: claim.Name}
		}
	}
	return decision.Reason{}
}
