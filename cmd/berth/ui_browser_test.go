package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBrowserOpensLinkFromPrivateFile checks that the link is not an argument of the program, and that the file with the link is
// private and removed.
func TestBrowserOpensLinkFromPrivateFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	program, result := filepath.Join(dir, "browser"), filepath.Join(dir, "result")
	script := "#!/bin/sh\n{ echo \"$@\"; stat -c %a \"$1\" \"${1%/*}\"; cat \"$1\"; } > " + result + ".part\nmv " + result + ".part " + result + "\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	remove, err := openBrowser(program, `http://127.0.0.1:1/ui/#code"&`)
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for data, err = os.ReadFile(result); err != nil; data, err = os.ReadFile(result) {
		time.Sleep(time.Millisecond)
	}
	lines := strings.SplitN(string(data), "\n", 4)
	if file := lines[0]; strings.Contains(file, "code") || !strings.HasPrefix(file, dir) || lines[1] != "600" || lines[2] != "700" {
		t.Errorf("got argument %s with modes %s and %s, want a file with mode 600 in a directory with mode 700", file, lines[1], lines[2])
	}
	if want := `url=http://127.0.0.1:1/ui/#code&#34;&amp;"`; !strings.Contains(lines[3], want) {
		t.Errorf("got page %s, want %s", lines[3], want)
	}
	remove()
	if _, err := os.Stat(lines[0]); !os.IsNotExist(err) {
		t.Errorf("the file remains: %v", err)
	}
	if remove, err := openBrowser(filepath.Join(dir, "missing"), "http://127.0.0.1:1"); err == nil {
		t.Error("a missing program: got no error")
	} else {
		remove()
	}
	if canOpenBrowser(&bytes.Buffer{}) {
		t.Error("a buffer counts as a terminal")
	}
}
