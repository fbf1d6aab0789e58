package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestManualPages checks that each visible command gets a page with the date of the commit.
func TestManualPages(t *testing.T) {
	date = "2026-01-02T03:04:05Z"
	defer func() { date = "" }()
	dir := filepath.Join(t.TempDir(), "share", "man1")
	if out, code, err := runBerth("man", dir); err != nil || code != 0 || out != "" {
		t.Fatalf("got exit code %d, %v, output %q, want 0 and no output", code, err, out)
	}
	for _, name := range []string{"berth.1", "berth-drain.1", "berth-explain-pod.1", "berth-image-rm.1", "berth-kubectl.1"} {
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, want := range []string{".TH ", "Jan 2026", ".SH NAME", ".SH SYNOPSIS"} {
			if !strings.Contains(string(page), want) {
				t.Errorf("%s lacks %q:\n%.500s", name, want, page)
			}
		}
		if strings.Contains(string(page), "Auto generated") {
			t.Errorf("%s has the date of its generation", name)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "berth-workload.1")); err == nil {
		t.Error("got a manual page of a hidden command, want none")
	}
	if _, _, err := runBerth("man"); err == nil {
		t.Error("berth man without a directory: got no error, want one")
	}
}
