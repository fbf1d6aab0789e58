package loopdisk_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/loopdisk"
	"github.com/berthproject/berth/internal/testkit"
)

// mount mounts an image until the test ends, and returns the mount point.
func mount(t *testing.T, image string) string {
	t.Helper()
	if err := loopdisk.CheckRequirements(); err != nil {
		testkit.SkipOrFail(t, "loop devices", err.Error())
	}
	rw, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rw.Close()
	dir := t.TempDir()
	if err := loopdisk.Mount(rw, dir, unix.MS_NOSUID|unix.MS_NODEV); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, 0) })
	return dir
}

// TestCreate checks disks of several sizes. They hold at least 60 % of their size and no more than all
// of it. Their files do not grow, and they pass e2fsck if it is installed.
func TestCreate(t *testing.T) {
	for _, mib := range []int64{1, 10, 16, 100, 129, 300} {
		t.Run(fmt.Sprint(mib), func(t *testing.T) {
			image := filepath.Join(t.TempDir(), "disk")
			if err := loopdisk.Create(image, mib<<20-100); errors.Is(err, loopdisk.ErrUnsupported) {
				testkit.SkipOrFail(t, "fallocate", err.Error())
			} else if err != nil {
				t.Fatal(err)
			}
			blocks := func() int64 {
				var s unix.Stat_t
				if err := unix.Stat(image, &s); err != nil || s.Size != mib<<20 {
					t.Fatalf("size %d, %v, want %d", s.Size, err, mib<<20)
				}
				return s.Blocks * 512
			}
			if before := blocks(); before < mib<<20 {
				t.Errorf("%d bytes are reserved, want at least %d", before, mib<<20)
			}
			dir := mount(t, image)
			if info, err := os.Stat(dir); err != nil || info.Mode() != os.ModeDir|0o777 {
				t.Errorf("root directory %v, %v, want mode 0777", info, err)
			}
			f, err := os.Create(filepath.Join(dir, "file"))
			if err != nil {
				t.Fatal(err)
			}
			written, buffer := int64(0), make([]byte, 64<<10)
			for err == nil && written <= mib<<20 {
				var n int
				n, err = f.Write(buffer)
				written += int64(n)
			}
			_ = f.Close()
			if !errors.Is(err, unix.ENOSPC) || written > mib<<20 || written < mib<<20*6/10 {
				t.Errorf("wrote %d bytes, %v, want at least 60 %% of %d and then %v", written, err, mib<<20, unix.ENOSPC)
			}
			if err := unix.Unmount(dir, 0); err != nil {
				t.Fatal(err)
			}
			if after := blocks(); after > mib<<20+64<<10 {
				t.Errorf("%d bytes are in use after the writes, want at most %d", after, mib<<20+64<<10)
			}
			if fsck, err := exec.LookPath("e2fsck"); err == nil {
				if out, err := exec.Command(fsck, "-fn", image).CombinedOutput(); err != nil {
					t.Errorf("e2fsck: %v: %s", err, out)
				}
			}
		})
	}
}

// TestMountTwice checks that two mounts of a file share one loop device.
func TestMountTwice(t *testing.T) {
	image := filepath.Join(t.TempDir(), "disk")
	if err := loopdisk.Create(image, 4<<20); err != nil {
		testkit.SkipOrFail(t, "fallocate", err.Error())
	}
	first, second := mount(t, image), mount(t, image)
	if err := os.WriteFile(filepath.Join(first, "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(second, "file")); err != nil || string(text) != "text" {
		t.Errorf("file in the second mount: %q, %v, want the text written to the first", text, err)
	}
}
