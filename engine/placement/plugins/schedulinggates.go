package plugins

import (
	"fmt"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// PreEnqueue returns why a pod must not be queued yet; nil if it may.
func PreEnqueue(p *framework.Profile, s *cluster.State, pod *model.Pod) *decision.Verdict {
	for _, plugin := range p.Config().PreEnqueue {
		if text := gateReason(plugin, s, pod); text != "" {
			v := framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonText, Subject: text})
			v.Plugin = plugin
			return &v
		}
	}
	return nil
}

// gateReason returns why a plugin gates a pod; empty if it does not.
func gateReason(plugin decision.Plugin, s *cluster.State, pod *model.Pod) string {
	switch {
	case plugin == decision.SchedulingGates && len(pod.Spec.Gates) > 0:
		return "waiting for scheduling gates: [" + strings.Join(pod.Spec.Gates, " ") + "]"
	case plugin == decision.GangScheduling && pod.Spec.SchedulingGroup != "":
		return fmt.Sprintf("spec.schedulingGroup: pod group %q: pods of a group are not scheduled yet; remove the field to place the pod by itself", pod.Spec.SchedulingGroup)
	case plugin == decision.DynamicResources && len(pod.Spec.ResourceClaims) > 0:
		return resourceClaimReason(s, pod)
	}
	return ""
}

// resourceClaimReason returns why DynamicResources gates a pod: kube-scheduler's message
// about a claim that cannot be used, or else that Berth does not allocate devices.
func resourceClaimReason(s *cluster.State, pod *model.Pod) string {
	for i := range pod.Spec.ResourceClaims {
		c := &pod.Spec.ResourceClaims[i]
		switch {
		case c.Claim == "" && c.Template == "":
			return fmt.Sprintf("pod %q, spec.resourceClaim %q: none of the supported fields are set", pod.Key(), c.Name)
		case c.Claim == "":
			return fmt.Sprintf("pod %q: ResourceClaim not created yet", pod.Key())
		}
		claim, found := s.ResourceClaim(pod.Namespace, c.Claim)
		switch {
		case !found:
			return fmt.Sprintf("could not find ResourceClaim %q", pod.Namespace+"/"+c.Claim)
		case claim.Deleting:
			return fmt.Sprintf("resourceclaim %q is being deleted", c.Claim)
		case c.Template != "" && (claim.Owner == model.Owner{} || claim.Owner.UID != pod.UID):
			return fmt.Sprintf("ResourceClaim %s/%s was not created for Pod %s (Pod is not owner)", pod.Namespace, c.Claim, pod.Key())
		}
	}
	first := &pod.Spec.ResourceClaims[0]
	return fmt.Sprintf("spec.resourceClaims: ResourceClaim %q: devices are not allocated yet; remove the claim to place the pod without them",
		pod.Namespace+"/"+first.Claim)
}
