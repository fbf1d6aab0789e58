package plugins

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// volumeRestrictions rejects nodes where an in-tree disk of the pod is in use and cannot be shared. It rejects all
// nodes while another pod uses a ReadWriteOncePod claim of the pod.
func volumeRestrictions(ev *framework.Evaluation) framework.PreFilterState {
	var exclusive []string // ReadWriteOncePod claims
	for i := range ev.Pod.Spec.Claims {
		c := &ev.Pod.Spec.Claims[i]
		if c.Ephemeral {
			continue // belongs to this pod
		}
		claim, ok := ev.State.PVC(ev.Pod.Namespace, c.Claim)
		if !ok {
			return rejectAllNodes(notFoundMessage(c.Claim))
		}
		if claim.AccessModes&model.ReadWriteOncePod != 0 && !slices.Contains(exclusive, c.Claim) {
			exclusive = append(exclusive, c.Claim)
		}
	}
	disks := ev.Pod.Spec.Disks
	inUse := 0
	for _, claim := range exclusive {
		if claimUser(ev, claim, &framework.CandidateNode{}) != nil {
			inUse++
		}
	}
	if len(disks) == 0 && inUse == 0 {
		return framework.PreFilterState{} // as in kube-scheduler, nominated pods are not checked then
	}
	return framework.PreFilterState{Filter: func(candidate *framework.CandidateNode) decision.Verdict {
		for i := range disks {
			for _, p := range candidate.Pods {
				if slices.ContainsFunc(p.Spec.Disks, func(d model.InTreeDisk) bool { return diskConflict(&disks[i], &d) }) {
					return framework.Reject(decision.Unschedulable, decision.Reason{Kind: decision.ReasonDiskConflict, Subject: disks[i].ID, Object: p.Key()})
				}
			}
		}
		if inUse+countClaimUsers(exclusive, candidate.Added)-countClaimUsers(exclusive, candidate.Removed) > 0 {
			reason := decision.Reason{Kind: decision.ReasonReadWriteOncePod, Subject: exclusive[0]}
			for _, claim := range exclusive {
				if user := claimUser(ev, claim, candidate); user != nil {
					reason.Subject, reason.Object = claim, user.Key()
					break
				}
			}
			return framework.Reject(decision.Unschedulable, reason)
		}
		return decision.Verdict{}
	}}
}

// countClaimUsers counts how often simulated pods use the claims. As in kube-scheduler, a
// claim in use counts once, each removed user subtracts one, and claims are compared by
// name only.
func countClaimUsers(claims []string, pods []*model.Pod) (n int) {
	for _, p := range pods {
		for i := range p.Spec.Claims {
			c := &p.Spec.Claims[i]
			if !c.Ephemeral && slices.Contains(claims, c.Claim) {
				n++
			}
		}
	}
	return n
}

// claimUser returns a pod on any node that uses a claim of the pod's namespace; nil if
// there is none. It includes the pods added to the candidate and excludes the removed ones.
func claimUser(ev *framework.Evaluation, claim string, candidate *framework.CandidateNode) *model.Pod {
	for _, p := range ev.State.ClaimUsers(ev.Pod.Namespace, claim) {
		removed := slices.ContainsFunc(candidate.Removed, func(r *model.Pod) bool { return r.UID == p.UID })
		if !removed && UsesClaim(p, claim) {
			return p
		}
	}
	for _, p := range candidate.Added {
		if p.Namespace == ev.Pod.Namespace && UsesClaim(p, claim) {
			return p
		}
	}
	return nil
}

// UsesClaim reports whether a pod uses a claim that is not ephemeral.
func UsesClaim(p *model.Pod, claim string) bool {
	return slices.ContainsFunc(p.Spec.Claims, func(c model.PodClaim) bool { return c.Claim == claim && !c.Ephemeral })
}

// diskConflict reports whether two disks are the same and cannot be shared. Sharing
// requires that both are read-only; AWS disks cannot be shared.
func diskConflict(d, other *model.InTreeDisk) bool {
	if d.Kind != other.Kind || d.ID != other.ID {
		return false
	}
	if d.Kind == model.RBDDisk && !slices.ContainsFunc(d.Monitors, func(m string) bool { return slices.Contains(other.Monitors, m) }) {
		return false
	}
	return d.Kind == model.AWSDisk || !d.ReadOnly || !other.ReadOnly
}

func notFoundMessage(name string) string {
	return fmt.Sprintf("persistentvolumeclaim %q not found", name)
}

func rejectAllNodes(text string) framework.PreFilterState {
	v := framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonText, Subject: text})
	return framework.PreFilterState{Verdict: &v}
}
