package drain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/remediation"
	"github.com/berthproject/berth/engine/scheduling/profiles"
	"github.com/berthproject/berth/explain"
)

// Explain says of each replacement without a node why, whether it will never have one, and
// what would help.
func (r *Result) Explain(v *View, s *Scheduler) {
	cfg := s.machineConfig()
	for _, q := range v.Pending() {
		i := slices.IndexFunc(r.Pods, func(p Pod) bool { return p.Outcome == OutcomePending && p.Replacement == q.Key() })
		if i < 0 {
			continue
		}
		p := &r.Pods[i]
		j := slices.IndexFunc(cfg.Profiles, func(f profiles.Profile) bool { return f.Name == q.Spec.SchedulerName })
		if j < 0 {
			p.PendingReason = "it waits for scheduler " + q.Spec.SchedulerName + ", of which no profile is known here (--config)"
			continue
		}
		placer := cfg.Profiles[j].NewPlacer(v.State)
		if held := placer.Gate(q); held != nil {
			p.PendingReason = explain.GatedMessage(held)
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

// explainPending says whether a replacement will never have a node, and what would help.
func (p *Pod) explainPending(v *View, profile *placement.Profile, seed uint64, q *model.Pod, drained []string) {
	rec := placement.Evaluate(v.State, profile, seed, q)
	p.Permanent, p.Field = neverFits(rec, drained)
	if only := unreachableVolume(v, q, drained); only != "" {
		p.Permanent, p.Field = true, only
	}
	found := remediation.Find(v.State, profile, seed, q, rec, remediation.Options{MaxSuggestions: 6})
	for j := range found.Suggestions {
		f := &found.Suggestions[j]
		if !slices.ContainsFunc(f.Changes, func(c remediation.Change) bool { return slices.Contains(drained, c.Node) }) {
			p.Suggestions = append(p.Suggestions, explain.SuggestionText(q, f))
		}
	}
}

// fieldByRule is what to change of a pod that a rule refuses whatever runs on a node.
var fieldByRule = map[decision.Plugin]string{
	decision.NodeAffinity:         "spec.nodeSelector or spec.affinity.nodeAffinity of its owner's template",
	decision.PreFilterResult:      "spec.affinity.nodeAffinity of its owner's template",
	decision.TaintToleration:      "spec.tolerations of its owner's template",
	decision.NodeResourcesFit:     "resources.requests of its containers",
	decision.VolumeBinding:        "its claims: their volumes can be used on no other node",
	decision.VolumeZone:           "its claims: their volumes are in another zone",
	decision.NodeDeclaredFeatures: "the features that it needs of a node",
}

// neverFits says that no node but the drained ones could take a pod even if nothing ran
// there, as nodes are now, and which field stands in the way most.
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
		rule := n.Verdict.Plugin
		if fieldByRule[rule] == "" || rule == decision.NodeResourcesFit && !slices.ContainsFunc(n.Verdict.Reasons, exceedsAllocatable) ||
			rule == decision.TaintToleration && slices.ContainsFunc(n.Verdict.Reasons, isNodeStateTaint) {
			return false, ""
		}
		count[rule]++
	}
	best, most := "", 0
	for rule := range decision.NumPlugins {
		if count[rule] > most {
			best, most = fieldByRule[rule], count[rule]
		}
	}
	return most > 0, best
}

// exceedsAllocatable says that more is asked for than a node has in all.
func exceedsAllocatable(r decision.Reason) bool {
	return r.Kind == decision.ReasonInsufficient && r.Want > r.Have
}

// isNodeStateTaint says that a taint may go by itself.
func isNodeStateTaint(r decision.Reason) bool {
	return strings.HasPrefix(r.Subject, "node.kubernetes.io/")
}

// unreachableVolume names the volume that no node but drained ones can use; empty: there is none.
func unreachableVolume(v *View, p *model.Pod, drained []string) string {
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
			return fmt.Sprintf("claim %s/%s: its volume %s can be used on no node that is not drained", p.Namespace, c.Claim, pv.Name)
		}
	}
	return ""
}
