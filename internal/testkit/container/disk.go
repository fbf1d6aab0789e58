package container

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/mounts"
	"github.com/berthproject/berth/internal/testkit"
)

// Disk returns a directory on a new ext4 file system of the given bytes and
// inodes (0 for the default of mkfs). It exists until the test ends. Start a runtime on it
// after this call, so that the runtime is removed first.
func Disk(t testing.TB, bytes, inodes int64) string {
	t.Helper()
	if os.Getuid() != 0 {
		testkit.SkipOrFail(t, "root", "mounts a file system")
	}
	mkfs, err := exec.LookPath("mkfs.ext4")
	if err != nil {
		testkit.SkipOrFail(t, "mkfs.ext4", "mkfs.ext4 is not on PATH: install e2fsprogs")
	}
	removeLeftoversOnce()
	dir, err := os.MkdirTemp(filepath.Split(fmt.Sprintf(diskDir, os.Getpid())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	file, root := filepath.Join(dir, "image"), filepath.Join(dir, "d")
	args := []string{"-q", "-m", "0"}
	if inodes > 0 {
		args = append(args, "-N", fmt.Sprint(inodes))
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, bytes); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(mkfs, append(args, file)...).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v: %s", err, out)
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-o", "loop", file, root).CombinedOutput(); err != nil {
		testkit.SkipOrFail(t, "loop devices", fmt.Sprintf("mount: %v: %s", err, out))
	}
	t.Cleanup(func() { unmount(t, root) })
	return root
}

// BindMount mounts a directory at another path until the test ends. It creates that path.
func BindMount(t testing.TB, from, target string) {
	t.Helper()
	if err := os.MkdirAll(target, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(from, target, "", unix.MS_BIND, ""); err != nil {
		testkit.SkipOrFail(t, "mount", err.Error())
	}
	t.Cleanup(func() { unmount(t, target) })
}

// unmount unmounts a disk and everything that is mounted below it. It retries, because
// killed processes take some time to release the disk.
func unmount(t testing.TB, dir string) {
	deadline := time.Now().Add(10 * time.Second)
	for {
		if below, err := mounts.Below(dir); err == nil {
			_ = mounts.Unmount(below, true)
		}
		err := unix.Unmount(dir, 0)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("unmounting %s: %v", dir, err)
			_ = unix.Unmount(dir, unix.MNT_DETACH)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
