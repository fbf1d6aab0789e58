package plugins

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// PlanVolumes returns what must happen to a pod's claims before it can be bound to a node,
// as VolumeBinding's filter determined. It is nil if there is nothing to do or the profile
// does not enable the plugin. The state must be the one on which the node was selected.
func PlanVolumes(p *framework.Profile, s *cluster.State, pod *model.Pod, node string) (*model.VolumePlan, error) {
	if len(pod.Spec.Claims) == 0 || !slices.Contains(p.Config().Filter, decision.VolumeBinding) {
		return nil, nil
	}
	id, ok := s.NodeID(node)
	if !ok {
		return nil, fmt.Errorf("volumes of pod %s on node %q: no such node", pod.Key(), node)
	}
	ev := &framework.Evaluation{State: s, Profile: p, Pod: pod}
	pv, rejection, err := classifyClaims(ev)
	switch {
	case err != nil:
		return nil, err
	case rejection != "":
		return nil, fmt.Errorf("volumes of pod %s on node %q: %s", pod.Key(), node, rejection)
	case len(pv.provisioning)+len(pv.waiting) == 0:
		return nil, nil
	}
	plan, reason := planVolumes(ev, pv, s.Node(id).Model)
	if reason.Kind != decision.NoReason {
		return nil, fmt.Errorf("volumes of pod %s on node %q: claim %q: %s", pod.Key(), node, reason.Subject, reason.String())
	}
	return plan, nil
}

// planVolumes selects or provisions a volume on a node for each unbound claim. If that is
// impossible, it returns the reason.
func planVolumes(ev *framework.Evaluation, pv *podVolumes, n *model.Node) (*model.VolumePlan, decision.Reason) {
	for _, claim := range pv.provisioning {
		if claim.SelectedNode != n.Name {
			return nil, decision.Reason{Kind: decision.ReasonNoVolumeToBind, Subject: claim.Name, Object: claim.SelectedNode}
		}
	}
	plan := &model.VolumePlan{Node: n.Name, BindTimeout: ev.Profile.Config().VolumeBindTimeout, Provision: slices.Clone(pv.provisioning)}
	for _, claim := range pv.waiting {
		if v := findVolume(ev, claim, n, plan.Bind); v != nil {
			plan.Bind = append(plan.Bind, model.ClaimVolume{Claim: claim, Volume: v})
		} else {
			plan.Provision = append(plan.Provision, claim)
		}
	}
	for _, claim := range plan.Provision {
		if reason := checkProvisioning(ev, claim, n); reason != decision.NoReason {
			return nil, decision.Reason{Kind: reason, Subject: claim.Name, Want: claim.Request}
		}
	}
	return plan, decision.Reason{}
}
