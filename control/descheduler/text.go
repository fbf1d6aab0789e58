package descheduler

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// most is how many lines a list of refusals has, each kind, and rows how many the table of moves: JSON has all of these.
const (
	most = 5
	rows = 200
)

// Text words a report.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	r.headline(&b)
	for _, x := range r.Broken {
		fmt.Fprintf(&b, "profile %s does not run: %s\n", x.Profile, x.Why)
	}
	if r.Idle != "" {
		fmt.Fprintf(&b, "nothing was looked at: %s\n", r.Idle)
	}
	if len(r.Moves) > 0 {
		b.WriteString("\n")
		r.table(&b)
		r.waits(&b)
	}
	r.refusals(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) headline(b *strings.Builder) {
	mode := string(r.Mode)
	if r.DryRun {
		mode += ", dry run"
	}
	verb := map[Mode]string{Planned: "to move", Compatible: "evicted"}[r.Mode]
	if r.DryRun && r.Mode == Compatible {
		verb = "to evict"
	}
	stay := 0
	for _, n := range r.Counts {
		stay += n
	}
	fmt.Fprintf(b, "%s: %d pods %s, %d candidates stay; %.2f s\n", mode, len(r.Moves), verb, stay, r.Took.Seconds())
	if r.Places != nil {
		fmt.Fprintf(b, "%s\n", r.Places)
	}
}

// table has a line a pod.
func (r *Report) table(b *strings.Builder) {
	var cells strings.Builder
	t := tabwriter.NewWriter(&cells, 0, 8, 2, ' ', 0)
	over := slices.ContainsFunc(r.Moves, func(m Moved) bool { return m.Outcome != "" })
	head := []string{"POD", "FROM"}
	if r.Mode == Planned {
		head = append(head, "TO")
	}
	head = append(head, "STRATEGY", "GAIN", "BUDGETS")
	if r.Mode == Compatible {
		head = []string{"POD", "FROM", "STRATEGY", "REASON"}
	}
	if over {
		head = append(head, "OUTCOME")
	}
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for i := range r.Moves[:min(len(r.Moves), rows)] {
		m := &r.Moves[i]
		row := []string{m.Pod, m.From}
		if r.Mode == Planned {
			row = append(row, dash(m.To), m.Strategy, dash(m.gain()), dash(m.budgets()))
		} else {
			row = append(row, m.Strategy, dash(m.Reason))
		}
		if over {
			row = append(row, dash(m.outcome()))
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush()
	for line := range strings.Lines(cells.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	if more := len(r.Moves) - rows; more > 0 {
		fmt.Fprintf(b, "and %d more\n", more)
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// gain is the change of what the strategy measures.
func (m *Moved) gain() string {
	if m.Gain == nil {
		return m.Reason
	}
	return fmt.Sprintf("%s %d -> %d", m.Gain.Of, m.Gain.Before, m.Gain.After)
}

// budgets are what it takes from them, and what it waits for.
func (m *Moved) budgets() string {
	var words []string
	for _, e := range m.Budgets {
		words = append(words, fmt.Sprintf("%s %d -> %d", e.Name, e.Before, e.After))
	}
	if m.Waits != "" {
		words = append(words, "waits")
	}
	return strings.Join(words, ", ")
}

func (m *Moved) outcome() string {
	s := m.Outcome
	if m.Node != "" && m.Node != m.To {
		s += " (" + m.Node + ")"
	}
	if m.Why != "" {
		s += ": " + m.Why
	}
	return s
}

// waits are the moves that wait for a budget.
func (r *Report) waits(b *strings.Builder) {
	n := 0
	for i := range r.Moves {
		m := &r.Moves[i]
		if m.Waits == "" || m.Outcome != "" {
			continue
		}
		if n++; n == 1 {
			b.WriteString("\nWait for a budget\n")
		}
		if n <= most {
			fmt.Fprintf(b, "  %s: %s\n", m.Pod, m.Waits)
		}
	}
	if n > most {
		fmt.Fprintf(b, "  and %d more\n", n-most)
	}
}

// refusals are who stays, by why.
func (r *Report) refusals(b *strings.Builder) {
	for _, why := range slices.Sorted(maps.Keys(r.Counts)) {
		fmt.Fprintf(b, "\nStay: %s (%d)\n", why, r.Counts[why])
		shown := 0
		for i := range r.Refused {
			x := &r.Refused[i]
			if x.Why != why || shown == most {
				continue
			}
			shown++
			fmt.Fprintf(b, "  %s on %s, %s: %s\n", x.Pod, x.Node, x.Strategy, x.Words)
		}
		if more := r.Counts[why] - shown; more > 0 {
			fmt.Fprintf(b, "  and %d more\n", more)
		}
	}
}
