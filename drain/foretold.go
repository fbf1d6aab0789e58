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
	"github.com/berthproject/berth/explain"
)

// foretold adds what the copy knows: why a replacement has no node, what would help, and who
// was preempted.
func (r *Result) foretold(w *world, c *Cluster) {
	for _, p := range w.preempt {
		r.Preempted = append(r.Preempted, Driven{Pod: p.Pod.Key(), Node: p.Pod.NodeName, By: p.By.Key()})
	}
	for i := range r.Pods {
		p := &r.Pods[i]
		if p.Outcome == Pends {
			for _, q := range w.view.Pending() {
				if q.Key() == p.Replacement {
					p.pends(w, c, q, r.Nodes)
				}
			}
		}
		p.Replacement = ""
	}
}

// pends says why a replacement has no node.
func (p *Pod) pends(w *world, c *Cluster, q *model.Pod, drained []string) {
	if s := w.why[q.UID]; s != nil {
		p.Why = explain.Message(s)
	}
	i := slices.IndexFunc(c.Profiles, func(f *placement.Profile) bool { return f.Name() == q.Spec.SchedulerName })
	if i < 0 {
		p.Why = "spec.schedulerName " + q.Spec.SchedulerName + " is not one of those that were foretold with"
		return
	}
	rec := placement.Evaluate(w.view.State, c.Profiles[i], c.Seed, q)
	p.Never, p.Field = hopeless(rec, drained)
	if p.Never {
		if v := onlyVolume(w, q, drained); v != "" {
			p.Field = v
		}
	}
	if rec.Outcome == decision.Gated && p.Why == "" {
		p.Why = explain.Held(rec.PreEnqueue)
	}
	found := remedy.Find(w.view.State, c.Profiles[i], c.Seed, q, rec, remedy.Options{Most: 6})
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
func onlyVolume(w *world, p *model.Pod, drained []string) string {
	for _, c := range p.Spec.Claims {
		claim, ok := w.view.State.PVC(p.Namespace, c.Claim)
		if !ok || claim.Volume == "" {
			continue
		}
		v, ok := w.view.State.PV(claim.Volume)
		if !ok || v.Affinity == nil {
			continue
		}
		usable := slices.ContainsFunc(w.view.State.NodeIDs(), func(id cluster.NodeID) bool {
			n := w.view.State.Node(id).Model
			return !slices.Contains(drained, n.Name) && v.Affinity.Admits(n)
		})
		if !usable {
			return fmt.Sprintf("claim %s/%s: its volume %s can be used on no node that is not drained", p.Namespace, c.Claim, v.Name)
		}
	}
	return ""
}
