package drain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/remedy"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/explain"
)

// Explain says of each replacement without a node why, whether it will never have one, and
// what would help.
func (r *Result) Explain(v *View, s *Scheduler) {
	cfg := s.configured()
	for _, q := range v.Pending() {
		i := slices.IndexFunc(r.Pods, func(p Pod) bool { return p.Outcome == Pends && p.Replacement == q.Key() })
		if i < 0 {
			continue
		}
		p := &r.Pods[i]
		j := slices.IndexFunc(cfg.Profiles, func(f scheduling.Profile) bool { return f.Name == q.Spec.SchedulerName })
		if j < 0 {
			p.Why = "it waits for scheduler " + q.Spec.SchedulerName + ", of which no profile is known here (--config)"
			continue
		}
		placer := cfg.Profiles[j].New(v.State)
		if held := placer.Gate(q); held != nil {
			p.Why = explain.Held(held)
			continue
		}
		var sum decision.Summary
		if placer.Decide(q, &sum); sum.Outcome == decision.Infeasible {
			sum.Preemption = placer.Preempt(q, &sum)
			p.Why = explain.Message(&sum)
			p.pends(v, s.Profiles[j], s.Seed, q, r.Nodes)
		}
	}
}

// pends says whether a replacement will never have a node, and what would help.
func (p *Pod) pends(v *View, profile *placement.Profile, seed uint64, q *model.Pod, drained []string) {
	rec := placement.Evaluate(v.State, profile, seed, q)
	p.Never, p.Field = hopeless(rec, drained)
	if only := onlyVolume(v, q, drained); only != "" {
		p.Never, p.Field = true, only
	}
	found := remedy.Find(v.State, profile, seed, q, rec, remedy.Options{Most: 6})
	for j := range found.Remedies {
		f := &found.Remedies[j]
		if !slices.ContainsFunc(f.Changes, func(c remedy.Change) bool { return slices.Contains(drained, c.Node) }) {
			p.Remedies = append(p.Remedies, explain.Remedy(q, f))
		}
	}
}

// fields is what to change of a pod that a rule refuses whatever runs on a node.
var fields = map[decision.Rule]string{
	decision.NodeAffinity:         "spec.nodeSelector or spec.affinity.nodeAffinity of its owner's template",
	decision.PreFilterResult:      "spec.affinity.nodeAffinity of its owner's template",
	decision.TaintToleration:      "spec.tolerations of its owner's template",
	decision.NodeResourcesFit:     "resources.requests of its containers",
	decision.VolumeBinding:        "its claims: their volumes can be used on no other node",
	decision.VolumeZone:           "its claims: their volumes are in another zone",
	decision.NodeDeclaredFeatures: "the features that it needs of a node",
}

// hopeless says that no node but the drained ones could take a pod even if nothing ran
// there, as nodes are now, and which field stands in the way most.
func hopeless(rec *decision.Record, drained []string) (bool, string) {
	if rec.Outcome != decision.Infeasible || rec.PreFilter != nil {
		return false, ""
	}
	count := map[decision.Rule]int{}
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if slices.Contains(drained, n.Name) {
			continue
		}
		rule := n.Verdict.Rule
		if fields[rule] == "" || rule == decision.NodeResourcesFit && !slices.ContainsFunc(n.Verdict.Reasons, tooMuch) ||
			rule == decision.TaintToleration && slices.ContainsFunc(n.Verdict.Reasons, ofNodeState) {
			return false, ""
		}
		count[rule]++
	}
	best, most := "", 0
	for rule := range decision.NumRules {
		if count[rule] > most {
			best, most = fields[rule], count[rule]
		}
	}
	return most > 0, best
}

// tooMuch says that more is asked for than a node has in all.
func tooMuch(r decision.Reason) bool { return r.Why == decision.WhyInsufficient && r.Want > r.Have }

// ofNodeState says that a taint may go by itself.
func ofNodeState(r decision.Reason) bool { return strings.HasPrefix(r.Subject, "node.kubernetes.io/") }

// onlyVolume names the volume that no node but drained ones can use; empty: there is none.
func onlyVolume(v *View, p *model.Pod, drained []string) string {
	for _, c := range p.Spec.Claims {
		claim, ok := v.State.PVC(p.Namespace, c.Claim)
		if !ok || claim.Volume == "" {
			continue
		}
		pv, ok := v.State.PV(claim.Volume)
		if !ok || pv.Affinity == nil {
			continue
		}
		usable := slices.ContainsFunc(v.State.NodeIDs(), func(id cluster.NodeID) bool {
			n := v.State.Node(id).Model
			return !slices.Contains(drained, n.Name) && pv.Affinity.Admits(n)
		})
		if !usable {
			return fmt.Sprintf("claim %s/%s: its volume %s can be used on no node that is not drained", p.Namespace, c.Claim, pv.Name)
		}
	}
	return ""
}
