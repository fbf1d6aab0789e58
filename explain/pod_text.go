package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Text writes the explanation as text: the outcome, rejections by plugin with the smallest
// shortage first, requeue triggers, suggestions and scores. all names every rejected node.
func (a *PodExplanation) Text(w io.Writer, all bool) error {
	rec := a.Record
	var b strings.Builder
	b.WriteString("pod " + rec.Pod)
	if a.Node != "" {
		b.WriteString(", bound to " + a.Node)
		if a.NodeMissing {
			b.WriteString(", which is no node of the cluster: nothing runs it there, and it is not placed anew")
		}
	}
	b.WriteString("\n")
	for _, problem := range a.Problems {
		b.WriteString("there " + oneLine(problem) + "\n")
	}
	b.WriteString(headline(rec) + "\n")
	if a.Extenders {
		b.WriteString("extenders have a say about it, too; they were not asked\n")
	}
	writeNomination(&b, a)
	writeRejections(&b, rec.Nodes, all)
	if a.Node == "" && (rec.Outcome == decision.Infeasible || rec.Outcome == decision.Gated) {
		writePreemption(&b, a.Preemption)
		writeRequeueTriggers(&b, rec.UnschedulablePlugins)
		writeSuggestions(&b, a)
	}
	writeScores(&b, rec, a.Node)
	if len(a.Decisions) > 0 {
		b.WriteString("\n")
		writeDecisions(&b, a.Decisions, a.uid())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeNomination writes the nominated node.
func writeNomination(b *strings.Builder, a *PodExplanation) {
	switch {
	case a.Nominated == "":
	case len(a.TerminatingVictims) == 0:
		fmt.Fprintf(b, "nominated to %s\n", a.Nominated)
	default:
		fmt.Fprintf(b, "nominated to %s, waits there for %s to be gone\n", a.Nominated, joinAnd(keys(a.TerminatingVictims)))
	}
}

// writePreemption writes the result of preemption.
func writePreemption(b *strings.Builder, p *decision.Preemption) {
	if p == nil {
		return
	}
	switch p.Outcome {
	case decision.PreemptionNominated:
		fmt.Fprintf(b, "\nIt can make room for itself: it preempts %s on %s", joinAnd(keys(p.Victims)), p.Node)
		if p.Violations > 0 {
			fmt.Fprintf(b, ", past a disruption budget for %d of them", p.Violations)
		}
		b.WriteString("\n")
	case decision.PreemptionVictimsTerminating:
		b.WriteString("\nIt has preempted; victims are still leaving its nominated node\n")
	case decision.PreemptionPolicyNever:
		b.WriteString("\nIt must not preempt (preemptionPolicy: Never)\n")
	case decision.PreemptionNoCandidates:
		b.WriteString("\nPreempting less important pods helps on no node\n")
	case decision.PreemptionFailed:
		b.WriteString("\nPreemption fails: " + p.Error + "\n")
	}
}

func keys(pods []*model.Pod) []string {
	out := make([]string, len(pods))
	for i, p := range pods {
		out[i] = p.Key()
	}
	return out
}

// headline returns the outcome in one line.
func headline(rec *decision.Record) string {
	switch rec.Outcome {
	case decision.Gated:
		return "gated: " + decision.JoinReasons(rec.PreEnqueue.Reasons) + " (" + rec.PreEnqueue.Plugin.String() + ")"
	case decision.Ignored:
		return "ignored: it is not for the profile " + rec.Profile + ", or has finished"
	case decision.Skipped:
		return "skipped: it is being deleted"
	case decision.Errored:
		return "error: " + rec.Error
	}
	if rec.PreFilter != nil {
		by := ""
		if rec.PreFilter.Plugin != decision.NoPlugin {
			by = " (" + rec.PreFilter.Plugin.String() + ")"
		}
		return "unschedulable on any node: " + decision.JoinReasons(rec.PreFilter.Reasons) + by
	}
	fit := 0
	for i := range rec.Nodes {
		if rec.Nodes[i].Verdict.IsSuccess() {
			fit++
		}
	}
	switch {
	case rec.NominatedFirst:
		return "fits its nominated node " + rec.Choice + ", so no other was looked at"
	case rec.ReservedFirst:
		return "fits " + rec.Choice + ", which is held for it, so no other was looked at"
	case fit == 0:
		return fmt.Sprintf("unschedulable: fits 0 of %d nodes", len(rec.Nodes))
	}
	return fmt.Sprintf("fits %d of %d nodes, best %s", fit, len(rec.Nodes), rec.Choice)
}
