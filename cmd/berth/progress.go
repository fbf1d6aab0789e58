package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// progressBar shows how far something is, on one line of a terminal. Where
// output is no terminal it stays silent.
type progressBar struct {
	w     *os.File
	shown bool
}

func (b *progressBar) show(n, total int, words string) {
	if !term.IsTerminal(int(b.w.Fd())) {
		return
	}
	const width = 30
	full := 0
	if total > 0 {
		full = width * n / total
	}
	fmt.Fprintf(b.w, "\r\x1b[K[%s%s] %d/%d %s", strings.Repeat("=", full), strings.Repeat(" ", width-full), n, total, words)
	b.shown = true
}

// done leaves the line.
func (b *progressBar) done() {
	if b.shown {
		fmt.Fprintln(b.w)
	}
}
