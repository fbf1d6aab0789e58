package scheduling

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// Placed is a profile that decides by the rules of placement. The seed chooses
// between nodes of equal score.
func Placed(p *placement.Profile, seed uint64) Profile {
	return Profile{Name: p.Name(), New: func(s *cluster.State) Placer { return &plain{s, p, seed} }}
}

// plain asks the plain path: every node, nothing kept between decisions.
type plain struct {
	state   *cluster.State
	profile *placement.Profile
	seed    uint64
}

func (p *plain) Gate(pod *model.Pod) *decision.Verdict { return p.profile.Gate(p.state, pod) }

func (p *plain) Decide(pod *model.Pod, out *decision.Summary) {
	rec := placement.Evaluate(p.state, p.profile, p.seed, pod)
	out.Outcome, out.Error, out.Choice = rec.Outcome, rec.Error, rec.Choice
	out.Revision, out.Rejectors, out.Nodes = rec.Revision, rec.Rejectors, p.state.NumNodes()
	out.Verdict = rec.PreFilter
	if rec.PreEnqueue != nil {
		out.Verdict = rec.PreEnqueue
	}
	rows := map[row]int{} // to its place in out.Counts, which keeps the order of the nodes
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if n.Verdict.Fits() {
			out.Feasible++
			if n.Name == rec.Choice {
				out.Total = n.Total
			}
			continue
		}
		count(out, rows, &n.Verdict)
	}
}

// row is what nodes are counted by.
type row struct {
	rule    decision.Rule
	code    decision.Code
	why     decision.Why
	subject string
}

// count adds a rejected node once for each of its reasons; one without reasons,
// outside of the names that the search was narrowed to, is a row as well.
func count(out *decision.Summary, rows map[row]int, v *decision.Verdict) {
	reasons := v.Reasons
	if len(reasons) == 0 {
		reasons = []decision.Reason{{}}
	}
	for i := range reasons {
		r := row{v.Rule, v.Code, reasons[i].Why, ""}
		if worded(r.why) {
			r.subject = reasons[i].Subject
		}
		at, ok := rows[r]
		if !ok {
			at = len(out.Counts)
			rows[r] = at
			out.Counts = append(out.Counts, decision.Count{Rule: r.rule, Code: r.code, Reason: decision.Reason{Why: r.why, Subject: r.subject}})
		}
		out.Counts[at].Nodes++
	}
}

// worded says whether the subject is part of kube-scheduler's text, so that nodes
// are told apart by it.
func worded(w decision.Why) bool {
	return w == decision.WhyInsufficient || w == decision.WhyDriverMissing || w == decision.WhyText
}
