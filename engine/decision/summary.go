package decision

import (
	"cmp"
	"slices"
)

// Summarize returns the Summary of a Record. nodes is the number of nodes in the cluster.
func Summarize(rec *Record, nodes int) *Summary {
	out := &Summary{}
	SummarizeInto(rec, nodes, out)
	return out
}

// SummarizeInto overwrites out with the Summary of a Record, reusing its ReasonCounts.
func SummarizeInto(rec *Record, nodes int, out *Summary) {
	*out = Summary{Outcome: rec.Outcome, Error: rec.Error, Choice: rec.Choice,
		Nodes: nodes, Revision: rec.Revision, Verdict: rec.PreFilter, ReasonCounts: out.ReasonCounts[:0]}
	if rec.PreEnqueue != nil {
		out.Verdict = rec.PreEnqueue
	}
	if rec.Outcome != Scheduled {
		out.UnschedulablePlugins = rec.UnschedulablePlugins
	}
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if rec.Outcome == Infeasible && n.Verdict.Code == Unschedulable {
			out.Resolvable++
		}
		switch {
		case n.Verdict.IsSuccess():
			out.Feasible++
			if n.Name == rec.Choice {
				out.Total = n.Total
			}
		case rec.Outcome == Infeasible && n.Verdict.Plugin == PreFilterResult && rec.PreFilterPlugins != "":
			out.AddReason(n.Verdict.Plugin, n.Verdict.Code, ReasonText, rec.PreFilterPlugins, 1)
		case rec.Outcome == Infeasible && len(n.Verdict.Reasons) == 0:
			out.AddReason(n.Verdict.Plugin, n.Verdict.Code, NoReason, "", 1)
		case rec.Outcome == Infeasible:
			for k := range n.Verdict.Reasons {
				r := &n.Verdict.Reasons[k]
				out.AddReason(n.Verdict.Plugin, n.Verdict.Code, r.Kind, r.Subject, 1)
			}
		}
	}
	SortReasonCounts(out.ReasonCounts)
}

// AddReason counts nodes with a reason. The subject distinguishes reasons only where it is
// part of kube-scheduler's text.
func (s *Summary) AddReason(plugin Plugin, code Code, reason ReasonKind, subject string, nodes int) {
	if reason != ReasonInsufficient && reason != ReasonDriverMissing && reason != ReasonText {
		subject = ""
	}
	for i := range s.ReasonCounts {
		c := &s.ReasonCounts[i]
		if c.Plugin == plugin && c.Code == code && c.Reason.Kind == reason && c.Reason.Subject == subject {
			c.Nodes += nodes
			return
		}
	}
	s.ReasonCounts = append(s.ReasonCounts, ReasonCount{Plugin: plugin, Code: code, Nodes: nodes,
		Reason: Reason{Kind: reason, Subject: subject}})
}

// AddReasonCounts counts nodes with a verdict, a row for each of its reasons.
func AddReasonCounts(counts []ReasonCount, v *Verdict, nodes int) []ReasonCount {
	s := Summary{ReasonCounts: counts}
	for i := range v.Reasons {
		s.AddReason(v.Plugin, v.Code, v.Reasons[i].Kind, v.Reasons[i].Subject, nodes)
	}
	return s.ReasonCounts
}

// SortReasonCounts sorts rows by plugin, code and reason, as summaries have them.
func SortReasonCounts(counts []ReasonCount) { slices.SortFunc(counts, compareReasonCounts) }

func compareReasonCounts(a, b ReasonCount) int {
	return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Reason.Kind, b.Reason.Kind), cmp.Compare(a.Reason.Subject, b.Reason.Subject))
}
