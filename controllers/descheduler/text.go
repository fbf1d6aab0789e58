package descheduler

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/berthproject/berth/internal/table"
)

// maxPodLines limits the waiting pods and, for each reason, the refused candidates that are printed. maxTableRows
// limits the moves.
const (
	maxPodLines  = 5
	maxTableRows = 200
)

// Text writes the report as text, with more columns if wide is set.
func (r *Report) Text(w io.Writer, wide bool) error {
	var b strings.Builder
	r.writeHeadline(&b)
	for _, x := range r.FailedProfiles {
		fmt.Fprintf(&b, "profile %s does not run: %s\n", x.Profile, x.Reason)
	}
	if r.SkippedReason != "" {
		fmt.Fprintf(&b, "skipped: %s\n", r.SkippedReason)
	}
	if len(r.Moves) > 0 {
		b.WriteString("\n")
		r.writeTable(&b, wide)
		r.writeWaits(&b)
	}
	r.writeRefusals(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) writeHeadline(b *strings.Builder) {
	mode := string(r.Mode)
	if r.DryRun {
		mode += ", dry run"
	}
	verb := map[Mode]string{Planned: "to move", Compatible: "evicted"}[r.Mode]
	if r.DryRun && r.Mode == Compatible {
		verb = "to evict"
	}
	refused := 0
	for _, n := range r.RefusalCounts {
		refused += n
	}
	fmt.Fprintf(b, "%s: %d pods %s, %d candidates not moved; %.2f s\n", mode, len(r.Moves), verb, refused, r.Duration.Seconds())
	if r.HoldSupport != nil {
		fmt.Fprintf(b, "%s\n", r.HoldSupport)
	}
}

// writeTable writes a row per pod.
func (r *Report) writeTable(b *strings.Builder, wide bool) {
	executed := slices.ContainsFunc(r.Moves, func(m MoveReport) bool { return m.Outcome != "" })
	header := []string{"POD", "FROM"}
	if r.Mode == Planned {
		header = append(header, "TO")
	}
	header = append(header, "STRATEGY")
	if r.Mode == Planned {
		header = append(header, "BUDGETS")
	}
	if executed {
		header = append(header, "OUTCOME")
	}
	header = append(header, map[Mode]string{Planned: "GAIN", Compatible: "REASON"}[r.Mode])
	t := table.New(table.Columns(header...), table.WideColumns("OWNER", "PROFILE", "REPLACEMENT"))
	for i := range r.Moves[:min(len(r.Moves), maxTableRows)] {
		m := &r.Moves[i]
		row := []string{m.Pod, m.From}
		if r.Mode == Planned {
			row = append(row, dash(m.To), m.Strategy, dash(m.formatBudgets()))
		} else {
			row = append(row, m.Strategy)
		}
		if executed {
			row = append(row, dash(m.formatOutcome()))
		}
		row = append(row, dash(m.formatGain()))
		t.AddRow(append(row, dash(m.Owner), m.Profile, dash(m.Replacement))...)
	}
	_ = t.Write(b, wide)
	if more := len(r.Moves) - maxTableRows; more > 0 {
		fmt.Fprintf(b, "and %d more\n", more)
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// formatGain formats the change of the strategy's metric. Without a metric, it returns the reason of the move.
func (m *MoveReport) formatGain() string {
	if m.Gain == nil {
		return m.Reason
	}
	return fmt.Sprintf("%s %d -> %d", m.Gain.Metric, m.Gain.Before, m.Gain.After)
}

func (m *MoveReport) formatBudgets() string {
	var parts []string
	for _, e := range m.Budgets {
		parts = append(parts, fmt.Sprintf("%s %d -> %d", e.Name, e.Before, e.After))
	}
	if m.WaitReason != "" {
		parts = append(parts, "waits")
	}
	return strings.Join(parts, ", ")
}

func (m *MoveReport) formatOutcome() string {
	s := m.Outcome
	if m.Node != "" && m.Node != m.To {
		s += " (" + m.Node + ")"
	}
	if m.OutcomeReason != "" {
		s += ": " + m.OutcomeReason
	}
	return s
}

// writeWaits writes the moves that wait for a budget.
func (r *Report) writeWaits(b *strings.Builder) {
	n := 0
	for i := range r.Moves {
		m := &r.Moves[i]
		if m.WaitReason == "" || m.Outcome != "" {
			continue
		}
		if n++; n == 1 {
			b.WriteString("\nWaiting for a budget\n")
		}
		if n <= maxPodLines {
			fmt.Fprintf(b, "  %s: %s\n", m.Pod, m.WaitReason)
		}
	}
	if n > maxPodLines {
		fmt.Fprintf(b, "  and %d more\n", n-maxPodLines)
	}
}

// writeRefusals writes the refused candidates by reason.
func (r *Report) writeRefusals(b *strings.Builder) {
	for _, reason := range slices.Sorted(maps.Keys(r.RefusalCounts)) {
		fmt.Fprintf(b, "\nNot moved: %s (%d)\n", reason, r.RefusalCounts[reason])
		shown := 0
		for i := range r.Refusals {
			x := &r.Refusals[i]
			if x.Reason != reason || shown == maxPodLines {
				continue
			}
			shown++
			fmt.Fprintf(b, "  %s on %s, %s: %s\n", x.Pod, x.Node, x.Strategy, x.Message)
		}
		if more := r.RefusalCounts[reason] - shown; more > 0 {
			fmt.Fprintf(b, "  and %d more\n", more)
		}
	}
}
