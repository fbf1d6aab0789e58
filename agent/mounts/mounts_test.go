package mounts_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/mounts"
	"github.com/berthproject/berth/internal/testkit"
)

func TestMounts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `with a blank and a \`)
	sibling := dir + " sibling"
	for _, d := range []string{sibling, dir, filepath.Join(dir, "below")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", d, "tmpfs", 0, ""); err != nil {
			testkit.SkipOrFail(t, "root", "mounting a tmpfs: "+err.Error())
		}
		t.Cleanup(func() { _ = unix.Unmount(d, unix.MNT_DETACH) })
	}
	points, err := mounts.At(dir)
	if err != nil || !slices.Equal(points, []string{dir, filepath.Join(dir, "below")}) {
		t.Fatalf("At = %q, %v, want the directory and the mount below it", points, err)
	}
	if below, err := mounts.Below(dir); err != nil || !slices.Equal(below, points[1:]) {
		t.Errorf("Below = %q, %v, want %q", below, err, points[1:])
	}
	for range 2 { // the second call finds nothing to unmount
		if err := mounts.Unmount(points, false); err != nil {
			t.Errorf("Unmount: %v, want no error", err)
		}
	}
	if remaining, err := mounts.At(dir); err != nil || len(remaining) > 0 {
		t.Errorf("mounts after Unmount %q, %v, want none", remaining, err)
	}
	if remaining, err := mounts.At(sibling); err != nil || len(remaining) != 1 {
		t.Errorf("mounts of the sibling %q, %v, want 1", remaining, err)
	}
}
