package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestManualPages(t *testing.T) {
	date = "2026-01-02T03:04:05Z"
	defer func() { date = "" }()
	dir := filepath.Join(t.TempDir(), "share", "man1")
	if out, code, err := berth("man", dir); err != nil || code != 0 || out != "" {
		t.Fatalf("%d, %v: %q", code, err, out)
	}
	for _, name := range []string{"berth.1", "berth-drain.1", "berth-explain-pod.1", "berth-image-rm.1", "berth-kubectl.1"} {
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, want := range []string{".TH ", "Jan 2026", ".SH NAME", ".SH SYNOPSIS"} {
			if !strings.Contains(string(page), want) {
				t.Errorf("%s: no %q:\n%.500s", name, want, page)
			}
		}
		if strings.Contains(string(page), "Auto generated") {
			t.Errorf("%s: has the date of the run", name)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "berth-workload.1")); err == nil {
		t.Error("a hidden command has a manual page")
	}
	if _, _, err := berth("man"); err == nil {
		t.Error("no directory: no error")
	}
}
