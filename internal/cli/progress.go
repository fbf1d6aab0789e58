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
	full := 0
	if total > 0 {
		full = width * n / total
	}
	fmt.Fprintf(b.W, "\r\x1b[K[%s%s] %d/%d %s", strings.Repeat("=", full), strings.Repeat(" ", width-full), n, total, text)
	b.shown = true
}

// Done ends the line.
func (b *ProgressBar) Done() {
	if b.shown {
		fmt.Fprintln(b.W)
	}
}
