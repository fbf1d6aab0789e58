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
		Nodes: nodes, Revision: rec.Revision, Verdict: rec.PreFilter, ReasonCounts: out.ReasonCounts[:0]}
	if rec.PreEnqueue != nil {
		out.Verdict = rec.PreEnqueue
	}
	if rec.Outcome != decision.Scheduled {
		out.UnschedulablePlugins = rec.UnschedulablePlugins
	}
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if rec.Outcome == decision.Infeasible && n.Verdict.Code == decision.Unschedulable {
			out.Resolvable++
		}
		switch {
		case n.Verdict.IsSuccess():
			out.Feasible++
			if n.Name == rec.Choice {
				out.Total = n.Total
			}
		case rec.Outcome == decision.Infeasible && n.Verdict.Plugin == decision.PreFilterResult && rec.PreFilterPlugins != "":
			addReasonCount(out, n.Verdict.Plugin, n.Verdict.Code, decision.ReasonText, rec.PreFilterPlugins, 1)
		case rec.Outcome == decision.Infeasible && len(n.Verdict.Reasons) == 0:
			addReasonCount(out, n.Verdict.Plugin, n.Verdict.Code, decision.NoReason, "", 1)
		case rec.Outcome == decision.Infeasible:
			for k := range n.Verdict.Reasons {
				r := &n.Verdict.Reasons[k]
				addReasonCount(out, n.Verdict.Plugin, n.Verdict.Code, r.Kind, r.Subject, 1)
			}
		}
	}
	slices.SortFunc(out.ReasonCounts, compareReasonCounts)
}

// addReasonCount counts nodes with a reason. The subject tells reasons apart only where it
// is part of kube-scheduler's text.
func addReasonCount(out *decision.Summary, plugin decision.Plugin, code decision.Code, why decision.ReasonKind, subject string, nodes int) {
	if why != decision.ReasonInsufficient && why != decision.ReasonDriverMissing && why != decision.ReasonText {
		subject = ""
	}
	for i := range out.ReasonCounts {
		c := &out.ReasonCounts[i]
		if c.Plugin == plugin && c.Code == code && c.Reason.Kind == why && c.Reason.Subject == subject {
			c.Nodes += nodes
			return
		}
	}
	out.ReasonCounts = append(out.ReasonCounts, decision.ReasonCount{Plugin: plugin, Code: code, Nodes: nodes,
		Reason: decision.Reason{Kind: why, Subject: subject}})
}

func compareReasonCounts(a, b decision.ReasonCount) int {
	return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Reason.Kind, b.Reason.Kind), cmp.Compare(a.Reason.Subject, b.Reason.Subject))
}
