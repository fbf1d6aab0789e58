package demo

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/berthproject/berth/explain"
)

type printer struct{ w io.Writer }

func (p printer) printTitle(label, title string) { fmt.Fprintf(p.w, "\n%s: %s\n", label, title) }

func (p printer) printBlank() { fmt.Fprintln(p.w) }

// print prints a line that does not belong to an act.
func (p printer) print(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

func (p printer) printIndented(format string, args ...any) { p.print("  "+format, args...) }

// printBlock prints indented text.
func (p printer) printBlock(text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \n"); line == "" {
			fmt.Fprintln(p.w)
		} else {
			fmt.Fprintln(p.w, "      "+line)
		}
	}
}

// printTable prints rows, the header first.
func (p printer) printTable(rows ...[]string) {
	var text bytes.Buffer
	t := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	_ = t.Flush()
	p.printBlock(text.String())
}

// formatDuration formats a duration with suitable precision.
func formatDuration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func formatBytes(bytes int64) string { return explain.FormatQuantity("memory", bytes>>20<<20) }
