package drain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/remediation"
	"github.com/berthproject/berth/engine/scheduling/profiles"
	"github.com/berthproject/berth/explain"
)

// explain adds to each pending replacement why it is pending, whether that is permanent, and
// what would help.
func (r *Result) explain(v *evacuation.View, s *Scheduler) {
	cfg := s.machineConfig()
	for _, q := range v.Pending() {
		i := slices.IndexFunc(r.Pods, func(p Pod) bool { return p.Outcome == OutcomePending && p.Replacement == q.Key() })
		if i < 0 {
			continue
		}
		p := &r.Pods[i]
		j := slices.IndexFunc(cfg.Profiles, func(f profiles.Profile) bool { return f.Name == q.Spec.SchedulerName })
		if j < 0 {
			p.PendingReason = "it waits for scheduler " + q.Spec.SchedulerName + ", whose profile is not known (--config)"
			continue
		}
		placer := cfg.Profiles[j].NewPlacer(v.State)
		if rejection := placer.Gate(q); rejection != nil {
			p.PendingReason = explain.GatedMessage(rejection)
			continue
		}
		var sum decision.Summary
		if placer.Decide(q, &sum); sum.Outcome == decision.Infeasible {
			sum.Preemption = placer.Preempt(q, &sum)
			p.PendingReason = explain.Message(&sum)
			p.explainPending(v, s.Profiles[j], s.Seed, q, r.Nodes)
		}
	}
}

// explainPending sets whether a replacement can never be scheduled, and which changes would make it schedulable.
func (p *Pod) explainPending(v *evacuation.View, profile *framework.Profile, seed uint64, q *model.Pod, drained []string) {
	rec := placement.Evaluate(v.State, profile, seed, q)
	p.Permanent, p.Field = neverFits(rec, drained)
	if volume := unreachableVolume(v, q, drained); volume != "" {
		p.Permanent, p.Field = true, volume
	}
	result := remediation.Find(v.State, profile, seed, q, rec, remediation.Options{MaxSuggestions: 6})
	for i := range result.Suggestions {
		f := &result.Suggestions[i]
		if !slices.ContainsFunc(f.Changes, func(c remediation.Change) bool { return slices.Contains(drained, c.Node) }) {
			p.Suggestions = append(p.Suggestions, explain.SuggestionText(q, f))
		}
	}
}

// fieldByPlugin is the field to change for a plugin that rejects a pod on every node.
var fieldByPlugin = map[decision.Plugin]string{
	decision.NodeAffinity:         "spec.nodeSelector or spec.affinity.nodeAffinity of its owner's template",
	decision.PreFilterResult:      "spec.affinity.nodeAffinity of its owner's template",
	decision.TaintToleration:      "spec.tolerations of its owner's template",
	decision.NodeResourcesFit:     "resources.requests of its containers",
	decision.VolumeBinding:        "its claims: no other node can use their volumes",
	decision.VolumeZone:           "its claims: their volumes are in another zone",
	decision.NodeDeclaredFeatures: "the node features that it requires",
}

// neverFits reports whether no remaining node could run the pod even if the node were empty. It returns the field that
// prevents it on most nodes.
func neverFits(rec *decision.Record, drained []string) (bool, string) {
	if rec.Outcome != decision.Infeasible || rec.PreFilter != nil {
		return false, ""
	}
	count := map[decision.Plugin]int{}
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if slices.Contains(drained, n.Name) {
			continue
		}
		plugin := n.Verdict.Plugin
		if fieldByPlugin[plugin] == "" || plugin == decision.NodeResourcesFit && !slices.ContainsFunc(n.Verdict.Reasons, exceedsAllocatable) ||
			plugin == decision.TaintToleration && slices.ContainsFunc(n.Verdict.Reasons, isNodeStateTaint) {
			return false, ""
		}
		count[plugin]++
	}
	best, highest := "", 0
	for plugin := range decision.NumPlugins {
		if count[plugin] > highest {
			best, highest = fieldByPlugin[plugin], count[plugin]
		}
	}
	return highest > 0, best
}

// exceedsAllocatable reports whether a request exceeds the node's allocatable amount.
func exceedsAllocatable(r decision.Reason) bool {
	return r.Kind == decision.ReasonInsufficient && r.Want > r.Have
}

// isNodeStateTaint reports whether a taint reflects a node condition and may disappear.
func isNodeStateTaint(r decision.Reason) bool {
	return strings.HasPrefix(r.Subject, "node.kubernetes.io/")
}

// unreachableVolume names the pod's volume that only drained nodes can use, or returns "".
func unreachableVolume(v *evacuation.View, p *model.Pod, drained []string) string {
	for _, c := range p.Spec.Claims {
		claim, ok := v.State.PVC(p.Namespace, c.Claim)
		if !ok || claim.VolumeName == "" {
			continue
		}
		pv, ok := v.State.PV(claim.VolumeName)
		if !ok || pv.Affinity == nil {
			continue
		}
		usable := slices.ContainsFunc(v.State.NodeIDs(), func(id cluster.NodeID) bool {
			n := v.State.Node(id).Model
			return !slices.Contains(drained, n.Name) && pv.Affinity.Matches(n)
		})
		if !usable {
			return fmt.Sprintf("claim %s/%s: its volume %s can only be used on drained nodes", p.Namespace, c.Claim, pv.Name)
		}
	}
	return ""
}
