package container

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/agent/runtime/embedded"
)

// The names of the directories contain the process ID, by which a later process detects that
// their process has been killed. The name of a runtime's directory also contains a number.
const (
	runtimeDir = "/tmp/bt%d-%d-"
	diskDir    = "/tmp/bd%d-"
)

// removeLeftoversOnce calls removeLeftovers once per process.
var removeLeftoversOnce = sync.OnceFunc(removeLeftovers)

// removeLeftovers removes what killed test processes have created. It ignores errors, because
// they are not failures of the current test.
func removeLeftovers() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	dirs, _ := filepath.Glob("/tmp/bt*-*-*")
	for _, dir := range dirs {
		var pid, n int
		if _, err := fmt.Sscanf(dir, runtimeDir, &pid, &n); err != nil || processExists(pid) {
			continue
		}
		_ = embedded.Cleanup(ctx, embedded.Options{Dir: dir + "/c", Bridge: bridgeName(pid, int64(n))})
		_ = containerd.ForceCleanup(containerd.Options{Dir: dir + "/c", State: dir + "/s", Bridge: bridgeName(pid, int64(n))})
		if host, err := cgroup.Detect(); err == nil && host.Exists(cgroupName(pid, int64(n))) {
			_ = host.Kill(cgroupName(pid, int64(n)))
			_ = host.Remove(ctx, cgroupName(pid, int64(n)))
		}
		_ = os.RemoveAll(dir)
	}
	disks, _ := filepath.Glob("/tmp/bd*-*")
	for _, dir := range disks {
		var pid int
		if _, err := fmt.Sscanf(dir, diskDir, &pid); err == nil && !processExists(pid) {
			_ = unix.Unmount(filepath.Join(dir, "d"), unix.MNT_DETACH)
			_ = os.RemoveAll(dir)
		}
	}
}

func processExists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM
}

func bridgeName(pid int, n int64) string { return fmt.Sprintf("bt%d-%d", pid, n) }
func cgroupName(pid int, n int64) string { return fmt.Sprintf("/berth-test-%d-%d", pid, n) }
