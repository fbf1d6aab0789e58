package main

import (
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/term"
)

// canOpenBrowser reports whether out is a terminal of a desktop session.
func canOpenBrowser(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return false
	}
	return runtime.GOOS == "darwin" || os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

// browserCommand returns the program that opens a file in the user's browser.
func browserCommand() string {
	if runtime.GOOS == "darwin" {
		return "open"
	}
	return "xdg-open"
}

// openBrowser makes a program open a link. The link signs in, and other users of the machine can read the arguments of
// programs. The program therefore opens a file that only this user can read, which refers to the link. The caller must
// call remove.
func openBrowser(program, link string) (remove func(), err error) {
	dir, err := os.MkdirTemp("", "berth-ui-") // with mode 0700
	if err != nil {
		return func() {}, fmt.Errorf("opening the browser: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) }
	file := filepath.Join(dir, "open.html")
	page := fmt.Sprintf(`<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=%s"><title>Berth</title>`, html.EscapeString(link))
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		return remove, fmt.Errorf("opening the browser: %w", err)
	}
	cmd := exec.Command(program, file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C ends this command, not the browser
	if err := cmd.Start(); err != nil {
		return remove, fmt.Errorf("opening the browser: %w", err)
	}
	go func() { _ = cmd.Wait() }() // the link is printed too, so a failure needs no report
	return remove, nil
}
