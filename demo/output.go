package demo

import (
	"fmt"
	"io"
	"time"

	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/table"
)

// printer prints lines of at most [table.Width] columns.
type printer struct{ w io.Writer }

func (p printer) printTitle(label, title string) { p.print("\n%s: %s", label, title) }

func (p printer) printBlank() { fmt.Fprintln(p.w) }

// print prints a line that does not belong to an act.
func (p printer) print(format string, args ...any) {
	fmt.Fprint(p.w, table.Wrap(fmt.Sprintf(format, args...)+"\n"))
}

func (p printer) printIndented(format string, args ...any) { p.print("  "+format, args...) }

// printCommand prints a command, its output and a blank line.
func (p printer) printCommand(command, output string) { p.print("$ berth %s\n%s", command, output) }

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
