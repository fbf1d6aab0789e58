//go:build linux

package virtualnode

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/mounts"
	"github.com/berthproject/berth/internal/testkit"
)

// newPool returns a pool in a temporary directory. It removes the pool's nodes after the test.
func newPool(t *testing.T) *Pool {
	t.Helper()
	if os.Geteuid() != 0 {
		testkit.SkipOrFail(t, "root", "virtual nodes require cgroups and mounts")
	}
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		testkit.SkipOrFail(t, "mkfs.ext4", err.Error())
	}
	p, err := NewPool(filepath.Join(t.TempDir(), "nodes"))
	if err != nil {
		testkit.SkipOrFail(t, "cgroups", err.Error())
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := p.Cleanup(ctx); err != nil {
			t.Error(err)
		}
	})
	return p
}

func smallOptions(name string) Options {
	return Options{Name: name, Memory: 256 << 20, Disk: 64 << 20, Inodes: 512, Pids: 100}
}

func startSleeper(t *testing.T, n *Node) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if err := n.pool.host.AddProcess(n.Cgroup, cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestNodeLimits(t *testing.T) {
	p := newPool(t)
	n, err := p.Create(t.Context(), smallOptions("v1"))
	if err != nil {
		t.Fatal(err)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(n.Disk, &fs); err != nil {
		t.Fatal(err)
	}
	if total := int64(fs.Blocks) * fs.Frsize; total < 32<<20 || total > 64<<20 {
		t.Errorf("size of the disk %d bytes, want 32 to 64 MiB", total)
	}
	if fs.Files < 512 || fs.Files > 1024 {
		t.Errorf("inodes of the disk %d, want 512 to 1024", fs.Files)
	}
	err = os.WriteFile(filepath.Join(n.Disk, "large"), make([]byte, 80<<20), 0o600)
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("writing 80 MiB to a disk of 64 MiB: %v, want %v", err, unix.ENOSPC)
	}
	if len(n.Bridge) > 15 {
		t.Errorf("bridge name %s, want at most 15 bytes, the kernel's limit", n.Bridge)
	}
	if socket := filepath.Join(n.RunDir, "containerd.sock.ttrpc"); len(socket) > 107 {
		t.Errorf("socket path %s has %d bytes, want at most 107, the kernel's limit", socket, len(socket))
	}
	if _, _, err := net.ParseCIDR(n.Subnet); err != nil {
		t.Error(err)
	}
	if p.host.Mode != "v2" {
		limit, err := os.ReadFile(filepath.Join(p.host.Dir("memory", n.Cgroup), "memory.limit_in_bytes"))
		if err != nil || strings.TrimSpace(string(limit)) != "268435456" {
			t.Errorf("memory limit %s, %v, want 268435456 bytes", limit, err)
		}
	}
	if err := n.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	checkNothingRemains(t, p)
}

// checkNothingRemains checks that no resource of the pool exists.
func checkNothingRemains(t *testing.T, p *Pool) {
	t.Helper()
	for _, dir := range []string{p.dir, p.runDir(), p.host.Dir("memory", p.cgroup()), p.host.Dir("pids", p.cgroup())} {
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s still exists, want it removed", dir)
		}
	}
	for _, dir := range []string{p.dir, p.runDir()} {
		if points, err := mounts.At(dir); err != nil || len(points) > 0 {
			t.Errorf("mounts below %s: %v, %v, want none", dir, points, err)
		}
	}
	// The kernel detaches a loop device when its last opener closes it. That can be another program, such as udev.
	devices := loopDevices(p)
	for range 300 {
		if len(devices) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
		devices = loopDevices(p)
	}
	t.Errorf("loop devices %v have files of the pool, want none", devices)
}

// loopDevices returns the loop devices that have a file of the pool.
func loopDevices(p *Pool) []string {
	var devices []string
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, f := range files {
		if file, _ := os.ReadFile(f); strings.HasPrefix(string(file), p.dir+"/") {
			devices = append(devices, f)
		}
	}
	return devices
}

func TestRemoveKillsProcesses(t *testing.T) {
	p := newPool(t)
	n, err := p.Create(t.Context(), smallOptions("v1"))
	if err != nil {
		t.Fatal(err)
	}
	otherNode, err := p.Create(t.Context(), Options{Name: "v2", Index: 1, Memory: 256 << 20, Disk: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	process, otherProcess := startSleeper(t, n), startSleeper(t, otherNode)
	waitErr := make(chan error, 1)
	go func() { waitErr <- process.Wait() }() // otherwise a zombie stays in the cgroup
	tmp := filepath.Join(n.Disk, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", tmp, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	if err := n.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Log(<-waitErr)
	if err := otherProcess.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("signaling the process of the other node: %v, want it running", err)
	}
	if points, _ := mounts.At(otherNode.Disk); len(points) != 1 {
		t.Errorf("mounts of the other node %v, want 1", points)
	}
}

// TestCleanupAfterKilledProcess removes a node with a second pool, as after kill -9 of the process that
// created the node.
func TestCleanupAfterKilledProcess(t *testing.T) {
	p := newPool(t)
	n, err := p.Create(t.Context(), smallOptions("v1"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := startSleeper(t, n)
	waitErr := make(chan error, 1)
	go func() { waitErr <- cmd.Wait() }()
	second, err := NewPool(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Cleanup(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Log(<-waitErr)
	checkNothingRemains(t, p)
	if err := second.Cleanup(t.Context()); err != nil {
		t.Errorf("Cleanup without state: %v, want no error", err)
	}
}

func TestCreateReplacesNode(t *testing.T) {
	p := newPool(t)
	for range 2 {
		n, err := p.Create(t.Context(), smallOptions("v1"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(n.Disk, "file")); err == nil {
			t.Error("the new node has a file of the first node, want an empty disk")
		}
		if err := os.WriteFile(filepath.Join(n.Disk, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCreateValidatesOptions(t *testing.T) {
	p := newPool(t)
	for want, o := range map[string]Options{
		`virtual node "a/b"`:                {Name: "a/b", Memory: MinMemory, Disk: MinDisk},
		"bytes of memory: must be at least": {Name: "v1", Memory: 1, Disk: MinDisk},
		"bytes of disk: must be at least":   {Name: "v1", Memory: MinMemory, Disk: 1},
	} {
		if _, err := p.Create(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Create(%+v): %v, want an error with %q", o, err, want)
		}
	}
	checkNothingRemains(t, p)
}
