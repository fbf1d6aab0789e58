package drain

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Text writes the result as text; foretold marks a preview.
func (r *Result) Text(w io.Writer, foretold bool) error {
	var b strings.Builder
	r.writeHeadline(&b, foretold)
	if len(r.Pods) > 0 {
		b.WriteString("\n")
		r.writeTable(&b)
	}
	for i := range r.Pods {
		r.Pods[i].writeReasons(&b, foretold)
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
	b.WriteString("\n" + r.verdict(foretold) + "\n")
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

func (r *Result) writeHeadline(b *strings.Builder, foretold bool) {
	noun, words := "node ", []string{}
	if len(r.Nodes) > 1 {
		noun = "nodes "
	}
	for _, o := range []Outcome{OutcomeMoved, OutcomeRemoved, OutcomePending, OutcomeBlocked, OutcomeTerminating} {
		if n := r.Count(o); n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, outcomeText[o]))
		}
	}
	if len(r.Skipped) > 0 {
		stay := map[SkipReason]int{}
		for _, s := range r.Skipped {
			stay[s.Reason]++
		}
		var of []string
		for _, why := range []SkipReason{SkipDaemonSet, SkipStaticPod, SkipSelector} {
			if stay[why] > 0 {
				of = append(of, fmt.Sprintf("%s %d", why, stay[why]))
			}
		}
		words = append(words, fmt.Sprintf("%d skipped (%s)", len(r.Skipped), strings.Join(of, ", ")))
	}
	if len(words) == 0 {
		words = []string{"no pods"}
	}
	fmt.Fprintf(b, "%s%s: %s", noun, strings.Join(r.Nodes, ", "), strings.Join(words, ", "))
	if r.Rounds > 0 && foretold {
		rounds := "rounds"
		if r.Rounds == 1 {
			rounds = "round"
		}
		fmt.Fprintf(b, "; %d %s", r.Rounds, rounds)
	}
	b.WriteString("\n")
}

var outcomeText = map[Outcome]string{OutcomeMoved: "moved", OutcomeRemoved: "removed", OutcomePending: "pending", OutcomeBlocked: "blocked", OutcomeTerminating: "already terminating"}

// writeTable writes a row per pod.
func (r *Result) writeTable(b *strings.Builder) {
	var rows strings.Builder
	t := tabwriter.NewWriter(&rows, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "ROUND\tPOD\tOWNER\tFROM\tTO\tNOTE")
	for i := range r.Pods {
		p := &r.Pods[i]
		round, to, note := "-", p.To, p.note()
		if p.Round > 0 {
			round = fmt.Sprint(p.Round)
		}
		if to == "" {
			to = "-"
		}
		if p.Uncertain {
			note = strings.TrimPrefix(note+"; uncertain", "; ")
		}
		owner := p.Owner
		if owner == "" {
			owner = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", round, p.Pod, owner, p.From, to, note)
	}
	_ = t.Flush()
	for line := range strings.Lines(rows.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

// note returns the last column.
func (p *Pod) note() string {
	switch {
	case p.Outcome == OutcomeBlocked && p.Block != nil && p.Block.Permanent:
		return "blocked permanently, see below"
	case p.Outcome == OutcomeBlocked && p.Block != nil && p.Block.ClearedBy != "":
		return "blocked until " + p.Block.ClearedBy
	case p.Outcome == OutcomeBlocked:
		return "held"
	case p.Outcome == OutcomePending && p.Permanent:
		return "fits no node, see below"
	case p.Outcome == OutcomePending:
		return "pending, see below"
	case p.Outcome == OutcomeRemoved && p.Owner == "":
		return "not replaced"
	case p.Outcome == OutcomeRemoved:
		return "its owner creates no replacement"
	case p.Outcome == OutcomeTerminating && p.Round > 0:
		return "evicted, still terminating"
	case p.isTerminating():
		return "was already terminating, not gone yet"
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
func (p *Pod) writeReasons(b *strings.Builder, foretold bool) {
	switch {
	case p.Outcome == OutcomePending:
		if foretold {
			fmt.Fprintf(b, "\nThe replacement of %s would be pending: %s\n", p.Pod, p.PendingReason)
		} else {
			fmt.Fprintf(b, "\n%s, the replacement of %s, is pending: %s\n", p.Replacement, p.Pod, p.PendingReason)
		}
		if p.Permanent {
			fmt.Fprintf(b, "  it fits no other node until this changes: %s\n", p.Field)
		}
		if len(p.Suggestions) > 0 {
			b.WriteString("  any of these makes it schedulable\n")
		}
		for _, s := range p.Suggestions[:min(len(p.Suggestions), 3)] {
			fmt.Fprintf(b, "    %s\n", s)
		}
	case p.Outcome == OutcomeBlocked && p.Block != nil && p.Block.Kind != ByWorkload:
		fmt.Fprintf(b, "\n%s is blocked: %s\n", p.Pod, p.Block.describe())
	}
}

// verdict returns the last line, with the exit code unless the drain was interrupted.
func (r *Result) verdict(foretold bool) string {
	code := r.ExitCode()
	exits := fmt.Sprintf(" (exit code %d).", code)
	if r.Interrupted {
		exits = "."
	}
	switch {
	case code == 4:
		return "Some pods can never move" + exits
	case code == 3:
		return "Some pods are waiting" + exits
	case r.Count(OutcomeTerminating) > 0 && foretold:
		return "All pods will be gone."
	case r.Count(OutcomeTerminating) > 0:
		return "All pods are gone."
	case foretold:
		return "All pods move."
	}
	return "All pods have moved."
}
