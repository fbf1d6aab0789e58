package cli

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// ProgressBar shows progress on one line of a terminal. It prints nothing if the output is
// not a terminal.
type ProgressBar struct {
	W     *os.File
	shown bool
}

// Show draws the bar with n of total done, if the output is a terminal.
func (b *ProgressBar) Show(n, total int, text string) {
	if !term.IsTerminal(int(b.W.Fd())) {
		return
	}
	const width = 30
	filled := 0
	if total > 0 {
		filled = width * n / total
	}
	fmt.Fprintf(b.W, "\r\x1b[K[%s%s] %d/%d %s", strings.Repeat("=", filled), strings.Repeat(" ", width-filled), n, total, text)
	b.shown = true
}

// Done ends the line.
func (b *ProgressBar) Done() {
	if b.shown {
		fmt.Fprintln(b.W)
	}
}
