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

// printer writes for users.
type printer struct{ w io.Writer }

func (n printer) printTitle(words, title string) { fmt.Fprintf(n.w, "\n%s: %s\n", words, title) }

func (n printer) printBlank() { fmt.Fprintln(n.w) }

// print is a line as it is, say one of an act.
func (n printer) print(format string, args ...any) { fmt.Fprintf(n.w, format+"\n", args...) }

func (n printer) printIndented(format string, args ...any) { n.print("  "+format, args...) }

// printBlock writes text that something else words, further in.
func (n printer) printBlock(text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \n"); line == "" {
			fmt.Fprintln(n.w)
		} else {
			fmt.Fprintln(n.w, "      "+line)
		}
	}
}

// printTable writes rows of cells, the first one its head.
func (n printer) printTable(rows ...[]string) {
	var text bytes.Buffer
	t := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	_ = t.Flush()
	n.printBlock(text.String())
}

// formatDuration words a time as precisely as it matters.
func formatDuration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// formatBytes words bytes.
func formatBytes(bytes int64) string { return explain.FormatQuantity("memory", bytes>>20<<20) }
