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

// narrator writes for people.
type narrator struct{ w io.Writer }

func (n narrator) title(words, title string) { fmt.Fprintf(n.w, "\n%s: %s\n", words, title) }

func (n narrator) blank() { fmt.Fprintln(n.w) }

// plain is a line as it is, say one of an act.
func (n narrator) plain(format string, args ...any) { fmt.Fprintf(n.w, format+"\n", args...) }

func (n narrator) say(format string, args ...any) { n.plain("  "+format, args...) }

// block writes text that something else words, further in.
func (n narrator) block(text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \n"); line == "" {
			fmt.Fprintln(n.w)
		} else {
			fmt.Fprintln(n.w, "      "+line)
		}
	}
}

// table writes rows of cells, the first one its head.
func (n narrator) table(rows ...[]string) {
	var text bytes.Buffer
	t := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	_ = t.Flush()
	n.block(text.String())
}

// span words a time as precisely as it matters.
func span(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// size words bytes.
func size(bytes int64) string { return explain.Amount("memory", bytes>>20<<20) }
