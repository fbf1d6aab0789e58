package placement

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/decision"
)

// Summarize makes a Summary of a Record. Nodes is the number of nodes in the cluster.
func Summarize(rec *decision.Record, nodes int) *decision.Summary {
	out := &decision.Summary{}
	summarize(rec, nodes, out)
	return out
}

func summarize(rec *decision.Record, nodes int, out *decision.Summary) {
	*out = decision.Summary{Outcome: rec.Outcome, Error: rec.Error, Choice: rec.Choice,
		Nodes: nodes, Revision: rec.Revision, Verdict: rec.PreFilter, Counts: out.Counts[:0]}
	if rec.PreEnqueue != nil {
		out.Verdict = rec.PreEnqueue
	}
	if rec.Outcome != decision.Scheduled {
		out.Rejectors = rec.Rejectors
	}
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if rec.Outcome == decision.Infeasible && n.Verdict.Code == decision.Unschedulable {
			out.Curable++
		}
		switch {
		case n.Verdict.Fits():
			out.Feasible++
			if n.Name == rec.Choice {
				out.Total = n.Total
			}
		case rec.Outcome == decision.Infeasible && n.Verdict.Rule == decision.PreFilterResult && rec.NarrowedBy != "":
			tell(out, n.Verdict.Rule, n.Verdict.Code, decision.WhyText, rec.NarrowedBy, 1)
		case rec.Outcome == decision.Infeasible && len(n.Verdict.Reasons) == 0:
			tell(out, n.Verdict.Rule, n.Verdict.Code, decision.NoReason, "", 1)
		case rec.Outcome == decision.Infeasible:
			for k := range n.Verdict.Reasons {
				r := &n.Verdict.Reasons[k]
				tell(out, n.Verdict.Rule, n.Verdict.Code, r.Why, r.Subject, 1)
			}
		}
	}
	slices.SortFunc(out.Counts, byRule)
}

// tell counts nodes with a reason. The subject tells reasons apart only where it
// is part of kube-scheduler's text.
func tell(out *decision.Summary, rule decision.Rule, code decision.Code, why decision.Why, subject string, nodes int) {
	if why != decision.WhyInsufficient && why != decision.WhyDriverMissing && why != decision.WhyText {
		subject = ""
	}
	for i := range out.Counts {
		c := &out.Counts[i]
		if c.Rule == rule && c.Code == code && c.Reason.Why == why && c.Reason.Subject == subject {
			c.Nodes += nodes
			return
		}
	}
	out.Counts = append(out.Counts, decision.Count{Rule: rule, Code: code, Nodes: nodes,
		Reason: decision.Reason{Why: why, Subject: subject}})
}

func byRule(a, b decision.Count) int {
	return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Reason.Why, b.Reason.Why), cmp.Compare(a.Reason.Subject, b.Reason.Subject))
}
