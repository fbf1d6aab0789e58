package drain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/internal/table"
)

// TextOptions are the options of a result as text.
type TextOptions struct {
	Preview bool // the drain was simulated
	Wide    bool // more columns
}

// Text writes the result as text.
func (r *Result) Text(w io.Writer, o TextOptions) error {
	var b strings.Builder
	preview := o.Preview
	r.writeHeadline(&b, preview)
	if len(r.Pods) > 0 {
		b.WriteString("\n")
		r.writeTable(&b, o.Wide)
	}
	for i := range r.Pods {
		r.Pods[i].writeReasons(&b, preview)
	}
	if r.anyUncertain() {
		b.WriteString("\nUncertain results depend on timing: pods of equal priority compete for the same capacity.\n")
	}
	if len(r.Preempted) > 0 {
		b.WriteString("\nPreempted by replacements\n")
		for _, p := range r.Preempted {
			fmt.Fprintf(&b, "  %s on %s, for %s\n", p.Pod, p.Node, p.By)
		}
	}
	b.WriteString("\n" + r.verdict(preview) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// JSON returns the result with its exit code, which is 1 for an interrupted drain.
func (r *Result) JSON() ([]byte, error) {
	code := r.ExitCode()
	if r.Interrupted {
		code = 1
	}
	return json.MarshalIndent(struct {
		*Result
		ExitCode int `json:"exitCode"`
	}{r, code}, "", "  ")
}

func (r *Result) writeHeadline(b *strings.Builder, preview bool) {
	noun, parts := "node ", []string{}
	if len(r.Nodes) > 1 {
		noun = "nodes "
	}
	texts := outcomeTexts
	if preview {
		texts = previewTexts
	}
	for _, o := range []Outcome{OutcomeMoved, OutcomeRemoved, OutcomePending, OutcomeBlocked, OutcomeTerminating} {
		if n := r.Count(o); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, texts[o]))
		}
	}
	if len(r.Skipped) > 0 {
		skipped := map[evacuation.SkipReason]int{}
		for _, s := range r.Skipped {
			skipped[s.Reason]++
		}
		var reasons []string
		for _, reason := range []evacuation.SkipReason{evacuation.SkipDaemonSet, evacuation.SkipStaticPod, evacuation.SkipSelector} {
			if skipped[reason] > 0 {
				reasons = append(reasons, fmt.Sprintf("%s %d", reason, skipped[reason]))
			}
		}
		parts = append(parts, fmt.Sprintf("%d skipped (%s)", len(r.Skipped), strings.Join(reasons, ", ")))
	}
	if len(parts) == 0 {
		parts = []string{"no pods"}
	}
	fmt.Fprintf(b, "%s%s: %s", noun, strings.Join(r.Nodes, ", "), strings.Join(parts, ", "))
	if r.Rounds > 0 && preview {
		rounds := "rounds"
		if r.Rounds == 1 {
			rounds = "round"
		}
		fmt.Fprintf(b, "; %d %s", r.Rounds, rounds)
	}
	b.WriteString("\n")
}

// The names of the outcomes in the headline.
var (
	outcomeTexts = map[Outcome]string{OutcomeMoved: "moved", OutcomeRemoved: "removed", OutcomePending: "pending", OutcomeBlocked: "blocked", OutcomeTerminating: "already terminating"}
	previewTexts = map[Outcome]string{OutcomeMoved: "to move", OutcomeRemoved: "to remove", OutcomePending: "would be pending", OutcomeBlocked: "blocked", OutcomeTerminating: "already terminating"}
)

// writeTable writes a row per pod.
func (r *Result) writeTable(b *strings.Builder, wide bool) {
	t := table.New(table.Columns("ROUND", "POD", "FROM", "TO", "NOTE"), table.WideColumns("OWNER", "REPLACEMENT", "READY"))
	t.Key = 2
	t.Columns[2].Wide = len(r.Nodes) == 1 // the headline names it
	for i := range r.Pods {
		p := &r.Pods[i]
		round, ready, note := "-", "-", p.note()
		if p.Round > 0 {
			round = fmt.Sprint(p.Round)
		}
		if p.Uncertain {
			note = strings.TrimPrefix(note+"; uncertain", "; ")
		}
		if p.Replacement != "" {
			ready = map[bool]string{true: "yes", false: "no"}[p.Ready]
		}
		t.AddRow(round, p.Pod, p.From, cmp.Or(p.To, "-"), note, cmp.Or(p.Owner, "-"), cmp.Or(p.Replacement, "-"), ready)
	}
	_ = t.Write(b, wide)
}

// note returns the text of the NOTE column.
func (p *Pod) note() string {
	switch {
	case p.Outcome == OutcomeBlocked && p.Block != nil && p.Block.Permanent:
		return "blocked permanently, see below"
	case p.Outcome == OutcomeBlocked && p.Block != nil && p.Block.Kind == evacuation.ByWorkload && p.Block.ClearedBy != "":
		return "blocked until " + p.Block.ClearedBy
	case p.Outcome == OutcomeBlocked && p.Block != nil && p.Block.Kind != evacuation.ByWorkload:
		return "blocked, see below"
	case p.Outcome == OutcomeBlocked:
		return "blocked"
	case p.Outcome == OutcomePending && p.Permanent:
		return "does not fit on any node, see below"
	case p.Outcome == OutcomePending:
		return "pending, see below"
	case p.Outcome == OutcomeRemoved && p.Owner == "":
		return "not replaced"
	case p.Outcome == OutcomeRemoved:
		return "its owner does not replace it"
	case p.Outcome == OutcomeTerminating && p.Round > 0:
		return "evicted, still terminating"
	case p.isTerminating():
		return "was already terminating, not deleted yet"
	case p.Outcome == OutcomeTerminating:
		return "was already terminating"
	case p.Surged:
		return "its owner runs an additional replica first"
	case p.FirstBlock != nil && p.FirstBlock.ClearedBy != "":
		return "after " + p.FirstBlock.ClearedBy
	}
	return ""
}

// writeReasons writes the details below the table.
func (p *Pod) writeReasons(b *strings.Builder, preview bool) {
	switch {
	case p.Outcome == OutcomePending:
		if preview {
			fmt.Fprintf(b, "\nThe replacement of %s would be pending: %s\n", p.Pod, p.PendingReason)
		} else {
			fmt.Fprintf(b, "\n%s, the replacement of %s, is pending: %s\n", p.Replacement, p.Pod, p.PendingReason)
		}
		if p.Permanent {
			fmt.Fprintf(b, "  it does not fit on any other node until this changes: %s\n", p.Field)
		}
		if len(p.Suggestions) > 0 {
			b.WriteString("  any of these makes it schedulable\n")
		}
		for _, s := range p.Suggestions[:min(len(p.Suggestions), 3)] {
			fmt.Fprintf(b, "    %s\n", s)
		}
	case p.Outcome == OutcomeBlocked && p.Block != nil && p.Block.Kind != evacuation.ByWorkload:
		fmt.Fprintf(b, "\n%s is blocked: %s\n", p.Pod, p.Block.Describe())
	}
}

// verdict returns the last line, with the exit code unless the drain was interrupted.
func (r *Result) verdict(preview bool) string {
	code := r.ExitCode()
	deleted := r.Count(OutcomeTerminating)+r.Count(OutcomeRemoved) > 0
	suffix := fmt.Sprintf(" (exit code %d).", code)
	if r.Interrupted {
		suffix = "."
	}
	switch {
	case code == 4:
		return "Some pods can never move unless an object changes" + suffix
	case code == 3:
		return "Some pods are waiting" + suffix
	case deleted && preview:
		return "All pods will be deleted."
	case deleted:
		return "All pods are deleted."
	case preview:
		return "All pods move."
	}
	return "All pods have moved."
}
