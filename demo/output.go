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

// printer prints for users.
type printer struct{ w io.Writer }

func (n printer) printTitle(label, title string) { fmt.Fprintf(n.w, "\n%s: %s\n", label, title) }

func (n printer) printBlank() { fmt.Fprintln(n.w) }

// print prints a line that does not belong to an act.
func (n printer) print(format string, args ...any) { fmt.Fprintf(n.w, format+"\n", args...) }

func (n printer) printIndented(format string, args ...any) { n.print("  "+format, args...) }

// printBlock prints indented text.
func (n printer) printBlock(text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \n"); line == "" {
			fmt.Fprintln(n.w)
		} else {
			fmt.Fprintln(n.w, "      "+line)
		}
	}
}

// printTable prints rows, the header first.
func (n printer) printTable(rows ...[]string) {
	var text bytes.Buffer
	t := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	_ = t.Flush()
	n.printBlock(text.String())
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

// formatBytes formats a number of bytes.
func formatBytes(bytes int64) string { return explain.FormatQuantity("memory", bytes>>20<<20) }
