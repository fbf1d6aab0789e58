package placement

import (
	"fmt"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Gate says why a pod must not be tried yet; nil when it may.
func (p *Profile) Gate(s *cluster.State, pod *model.Pod) *decision.Verdict {
	for _, r := range p.cfg.PreEnqueue {
		if text := heldBy(r, s, pod); text != "" {
			v := rejects(decision.Unresolvable, decision.Reason{Why: decision.WhyText, Subject: text})
			v.Rule = r
			return &v
		}
	}
	return nil
}

// heldBy is the reason for which a rule holds a pod back; empty when it does not.
func heldBy(r decision.Rule, _ *cluster.State, pod *model.Pod) string {
	switch {
	case r == decision.SchedulingGates && len(pod.Spec.Gates) > 0:
		return "waiting for scheduling gates: [" + strings.Join(pod.Spec.Gates, " ") + "]"
	case r == decision.GangScheduling && pod.Spec.SchedulingGroup != "":
		return fmt.Sprintf("spec.schedulingGroup: pod group %q: pods of a group are not scheduled yet; remove the field to place the pod by itself", pod.Spec.SchedulingGroup)
	case r == decision.DynamicResources && len(pod.Spec.ResourceClaims) > 0:
		c := &pod.Spec.ResourceClaims[0]
		if c.Claim != "" {
			return fmt.Sprintf("could not find ResourceClaim %q", pod.Namespace+"/"+c.Claim)
		}
		return fmt.Sprintf("spec.resourceClaims: claim %q of template %q: device claims are not allocated yet", c.Name, c.Template)
	}
	return ""
}
