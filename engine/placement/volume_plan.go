package placement

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Volumes is what must happen to the pod's claims before it can be bound to a
// node: the choice that the filter made there. Nil when there is nothing to do,
// or when the profile does not look at volumes. It must be asked on the state that the
// node was chosen on; an error says what is not as it was.
func (p *Profile) Volumes(s *cluster.State, pod *model.Pod, node string) (*model.VolumePlan, error) {
	if len(pod.Spec.Claims) == 0 || !slices.Contains(p.cfg.Filter, decision.VolumeBinding) {
		return nil, nil
	}
	id, ok := s.NodeID(node)
	if !ok {
		return nil, fmt.Errorf("volumes of pod %s on node %q: no such node", pod.Key(), node)
	}
	a := &attempt{state: s, profile: p, pod: pod}
	pv, refusal, err := a.claimsOf()
	switch {
	case err != nil:
		return nil, err
	case refusal != "":
		return nil, fmt.Errorf("volumes of pod %s on node %q: %s", pod.Key(), node, refusal)
	case len(pv.chosen)+len(pv.waiting) == 0:
		return nil, nil
	}
	plan, why := a.obtain(pv, s.Node(id).Model)
	if why.Why != decision.NoReason {
		return nil, fmt.Errorf("volumes of pod %s on node %q: claim %q: %s", pod.Key(), node, why.Subject, why.String())
	}
	return plan, nil
}

// Volumes is Profile.Volumes on the engine's state.
func (e *Engine) Volumes(pod *model.Pod, node string) (*model.VolumePlan, error) {
	return e.profile.Volumes(e.state, pod, node)
}

// obtain plans how the unbound claims get volumes on a node, or says which one
// finds none.
func (a *attempt) obtain(pv *podVolumes, n *model.Node) (*model.VolumePlan, decision.Reason) {
	for _, claim := range pv.chosen {
		if claim.Node != n.Name {
			return nil, decision.Reason{Why: decision.WhyNoVolumeToBind, Subject: claim.Name, Who: claim.Node}
		}
	}
	plan := &model.VolumePlan{Node: n.Name, Within: a.profile.cfg.VolumeBindLimit, Provision: slices.Clone(pv.chosen)}
	for _, claim := range pv.waiting {
		if v := a.volumeFor(claim, n, plan.Bind); v != nil {
			plan.Bind = append(plan.Bind, model.ClaimVolume{Claim: claim, Volume: v})
		} else {
			plan.Provision = append(plan.Provision, claim)
		}
	}
	for _, claim := range plan.Provision {
		if why := a.provisionable(claim, n); why != decision.NoReason {
			return nil, decision.Reason{Why: why, Subject: claim.Name, Want: claim.Request}
		}
	}
	return plan, decision.Reason{}
}
