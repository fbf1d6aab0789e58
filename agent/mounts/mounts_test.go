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
	other := dir + " beside it"
	for _, d := range []string{dir, other} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{other, dir, filepath.Join(dir, "below")} {
		_ = os.Mkdir(d, 0o700)
		if err := unix.Mount("tmpfs", d, "tmpfs", 0, ""); err != nil {
			testkit.SkipOrFail(t, "root", "mounting a tmpfs: "+err.Error())
		}
		t.Cleanup(func() { _ = unix.Unmount(d, unix.MNT_DETACH) })
	}
	points, err := mounts.At(dir)
	if err != nil || !slices.Equal(points, []string{dir, filepath.Join(dir, "below")}) {
		t.Fatalf("mounted at %q, %v", points, err)
	}
	if below, err := mounts.Below(dir); err != nil || !slices.Equal(below, points[1:]) {
		t.Errorf("mounted below %q, %v", below, err)
	}
	for range 2 { // the second call finds nothing to unmount
		if err := mounts.Unmount(points, false); err != nil {
			t.Error(err)
		}
	}
	if remaining, err := mounts.At(dir); err != nil || len(remaining) > 0 {
		t.Errorf("remaining %q, %v", remaining, err)
	}
	if remaining, err := mounts.At(other); err != nil || len(remaining) != 1 {
		t.Errorf("mounted beside it %q, %v", remaining, err)
	}
}
