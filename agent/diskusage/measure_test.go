package diskusage_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/berthproject/berth/agent/diskusage"
)

func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, size int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "subdir"), 0o700); err != nil {
		t.Fatal(err)
	}
	before, err := diskusage.Measure(dir)
	if err != nil || before.Inodes != 2 {
		t.Fatalf("Measure = %+v, %v, want 2 inodes", before, err)
	}
	write("subdir/file", 10_000)
	for name, link := range map[string]func(target, path string) error{"hardlink": os.Link, "symlink": func(_, path string) error { return os.Symlink("/usr", path) }} {
		if err := link(filepath.Join(dir, "subdir", "file"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	after, err := diskusage.Measure(dir)
	if growth := after.Bytes - before.Bytes; err != nil || after.Inodes != 4 || growth < 10_000 || growth > 40_000 {
		t.Errorf("Measure = %+v, %v, want one file and one link more than %+v", after, err, before)
	}
	if u, err := diskusage.Measure(filepath.Join(dir, "none")); u != (diskusage.Usage{}) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Measure of a missing directory: %+v, %v, want %v", u, err, fs.ErrNotExist)
	}
}
