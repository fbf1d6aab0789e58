package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Text writes the explanation as text: the outcome, rejections by plugin with the smallest
// shortage first, requeue triggers, suggestions and scores. If all is set, it lists every rejected node.
func (e *PodExplanation) Text(w io.Writer, all bool) error {
	rec := e.Record
	var b strings.Builder
	b.WriteString("pod " + rec.Pod)
	if e.Node != "" {
		b.WriteString(", bound to " + e.Node)
		if e.NodeMissing {
			b.WriteString(", which does not exist: the pod does not run, and is not rescheduled")
		}
	}
	b.WriteString("\n")
	for _, problem := range e.Problems {
		b.WriteString("node problem: " + oneLine(problem) + "\n")
	}
	b.WriteString(headline(rec) + "\n")
	if e.Extenders {
		b.WriteString("the scheduler also calls extenders for this pod; they were not called here\n")
	}
	writeNomination(&b, e)
	writeResize(&b, e)
	writeRejections(&b, rec.Nodes, all)
	if e.Node == "" && (rec.Outcome == decision.Infeasible || rec.Outcome == decision.Gated) {
		writePreemption(&b, e.Preemption)
		writeRequeueTriggers(&b, rec.UnschedulablePlugins)
		writeSuggestions(&b, e)
	}
	writeScores(&b, rec, e.Node)
	if len(e.Decisions) > 0 {
		b.WriteString("\n")
		writeDecisions(&b, e.Decisions, e.uid())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeNomination(b *strings.Builder, e *PodExplanation) {
	switch {
	case e.Nominated == "":
	case len(e.TerminatingVictims) == 0:
		fmt.Fprintf(b, "nominated to %s\n", e.Nominated)
	default:
		fmt.Fprintf(b, "nominated to %s, waits for %s to terminate\n", e.Nominated, joinAnd(keys(e.TerminatingVictims)))
	}
}

func writePreemption(b *strings.Builder, p *decision.Preemption) {
	if p == nil {
		return
	}
	switch p.Outcome {
	case decision.PreemptionNominated:
		fmt.Fprintf(b, "\nPreemption would make the pod schedulable: evict %s from %s", joinAnd(keys(p.Victims)), p.Node)
		if p.Violations > 0 {
			fmt.Fprintf(b, ", violating a disruption budget for %d of them", p.Violations)
		}
		b.WriteString("\n")
	case decision.PreemptionVictimsTerminating:
		b.WriteString("\nPreemption is in progress: victims are still terminating on the nominated node\n")
	case decision.PreemptionPolicyNever:
		b.WriteString("\nThe pod must not preempt (preemptionPolicy: Never)\n")
	case decision.PreemptionNoCandidates:
		b.WriteString("\nPreemption would not make the pod schedulable on any node\n")
	case decision.PreemptionFailed:
		b.WriteString("\nPreemption failed: " + p.Error + "\n")
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
		return "ignored: the pod is not for the profile " + rec.Profile + ", or has finished"
	case decision.Skipped:
		return "skipped: the pod is being deleted"
	case decision.Errored:
		return "error: " + rec.Error
	}
	if rec.PreFilter != nil {
		plugin := ""
		if rec.PreFilter.Plugin != decision.NoPlugin {
			plugin = " (" + rec.PreFilter.Plugin.String() + ")"
		}
		return "unschedulable on all nodes: " + decision.JoinReasons(rec.PreFilter.Reasons) + plugin
	}
	fit := 0
	for i := range rec.Nodes {
		if rec.Nodes[i].Verdict.IsSuccess() {
			fit++
		}
	}
	switch {
	case rec.NominatedFirst:
		return "fits its nominated node " + rec.Choice + ", so no other node was evaluated"
	case rec.ReservedFirst:
		return "fits " + rec.Choice + ", which is reserved for it, so no other node was evaluated"
	case fit == 0:
		return fmt.Sprintf("unschedulable: fits 0 of %d nodes", len(rec.Nodes))
	}
	return fmt.Sprintf("fits %d of %d nodes, best %s", fit, len(rec.Nodes), rec.Choice)
}
