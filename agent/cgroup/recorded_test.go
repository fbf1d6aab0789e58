package cgroup_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/cgroup"
)

// recorded opens testdata/v2, which was recorded in the virtual machine of make test-v2. It has a node
// with limits of 256 MiB and 100 processes, and a pod that uses 64 MiB.
func recorded(t *testing.T) *cgroup.Host {
	t.Helper()
	h, err := cgroup.DetectAt("testdata/v2")
	if err != nil {
		t.Fatal(err)
	}
	if h.Mode != cgroup.V2 {
		t.Fatalf("mode %s, want %s", h.Mode, cgroup.V2)
	}
	return h
}

// copyRecorded opens a copy of testdata/v2 and returns its directory.
func copyRecorded(t *testing.T) (h *cgroup.Host, root string) {
	t.Helper()
	root = t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata/v2")); err != nil {
		t.Fatal(err)
	}
	h, err := cgroup.DetectAt(root)
	if err != nil {
		t.Fatal(err)
	}
	return h, root
}

func TestRecordedV2Node(t *testing.T) {
	h := recorded(t)
	g, err := h.Open("/node")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var m cgroup.Memory
	if err := g.Memory(&m); err != nil {
		t.Fatal(err)
	}
	if want := (cgroup.Memory{Usage: 72876032, Anon: 72241152, Kernel: 401408, Faults: 476}); m != want {
		t.Errorf("memory %+v, want %+v", m, want)
	}
	for name, tc := range map[string]struct {
		read func() (int64, error)
		want int64
	}{
		"limit": {g.Limit, 256 << 20}, "capacity": {g.Capacity, 256 << 20}, "pids": {g.Pids, 5}, "pid limit": {g.PidLimit, 100},
		"oom kills": {g.OOMKills, 0}, "cpu": {g.CPU, 932626000},
	} {
		if got, err := tc.read(); err != nil || got != tc.want {
			t.Errorf("%s: %d, %v, want %d", name, got, err, tc.want)
		}
	}
	var s cgroup.PSI
	if err := g.PSI(&s); err != nil || s != (cgroup.PSI{}) {
		t.Errorf("PSI %+v, %v, want zeros", s, err)
	}
}

func TestRecordedV2Machine(t *testing.T) {
	h := recorded(t)
	g, err := h.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var m cgroup.Memory
	if err := g.Memory(&m); err != nil {
		t.Fatal(err)
	}
	// The root has no memory.current: usage is MemTotal - MemFree.
	if m.Usage != (3055148-2865972)<<10 || m.Anon != 76894208 {
		t.Errorf("memory %+v, want usage %d and anonymous memory 76894208", m, (3055148-2865972)<<10)
	}
	if c, err := g.Capacity(); err != nil || c != 3055148<<10 {
		t.Errorf("capacity %d, %v, want %d", c, err, 3055148<<10)
	}
	if g.HasPids() {
		t.Error("HasPids of the root is true, want false")
	}
}

func TestRecordedV2Pods(t *testing.T) {
	h := recorded(t)
	pods, err := h.Children(cgroup.PodsPath("/node"))
	if err != nil || !slices.Equal(pods, []string{"/node/berthpods/podA"}) {
		t.Fatalf("pods %v, %v, want /node/berthpods/podA", pods, err)
	}
	g, err := h.Open(pods[0])
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var m cgroup.Memory
	if err := g.Memory(&m); err != nil || m.Usage != 72859648 {
		t.Errorf("memory %+v, %v, want usage 72859648", m, err)
	}
	if limit, err := g.Limit(); err != nil || limit != cgroup.Unlimited {
		t.Errorf("limit %d, %v, want %d", limit, err, int64(cgroup.Unlimited))
	}
	if c, err := g.Capacity(); err != nil || c != 3055148<<10 {
		t.Errorf("capacity %d, %v, want %d, the machine's memory", c, err, 3055148<<10)
	}
}

func TestParseV2Stat(t *testing.T) {
	h, root := copyRecorded(t)
	dir := filepath.Join(root, "sys/fs/cgroup/node")
	for name, text := range map[string]string{
		"memory.current":  "1000000\n",
		"memory.stat":     "anon 1\nfile 40\nkernel 100\nunevictable 8\nshmem 2\nfile_dirty 3\nfile_writeback 4\ninactive_file 5\nactive_file 6\nworkingset_refault_file 7\nworkingset_refault_anon 9\n",
		"memory.pressure": "some avg10=12.34 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=250\n",
		"memory.events":   "low 0\nhigh 1011\nmax 0\noom 2\noom_kill 3\noom_group_kill 0\n",
		"pids.max":        "max\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g, err := h.Open("/node")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var m cgroup.Memory
	want := cgroup.Memory{Usage: 1000000, Anon: 1, File: 40, Unevictable: 8, Kernel: 100, Shmem: 2, Dirty: 3, Writeback: 4, InactiveFile: 5, ActiveFile: 6, Refaults: 7}
	if err := g.Memory(&m); err != nil || m != want {
		t.Errorf("memory %+v, %v, want %+v", m, err, want)
	}
	if m.WorkingSet() != 999995 || m.Unreclaimable() != 3 {
		t.Errorf("working set %d, unreclaimable %d, want 999995 and 3", m.WorkingSet(), m.Unreclaimable())
	}
	if m.Unaccounted() != 1000000-1-40-100 {
		t.Errorf("unaccounted %d, want %d", m.Unaccounted(), 1000000-1-40-100)
	}
	if m.WorkingCache() != 40-2-5-8 {
		t.Errorf("page cache in the working set %d, want %d", m.WorkingCache(), 40-2-5-8)
	}
	var s cgroup.PSI
	if err := g.PSI(&s); err != nil || s != (cgroup.PSI{Some: cgroup.Stall{Avg10: 1234, Total: 1500 * time.Millisecond}, Full: cgroup.Stall{Avg10: 100, Total: 250 * time.Microsecond}}) {
		t.Errorf("PSI %+v, %v, want 12.34 %%, 1.5 s and 250 µs", s, err)
	}
	if n, err := g.OOMKills(); err != nil || n != 3 {
		t.Errorf("OOM kills %d, %v, want 3", n, err)
	}
	if n, err := g.PidLimit(); err != nil || n != cgroup.Unlimited {
		t.Errorf("pid limit %d, %v, want %d", n, err, int64(cgroup.Unlimited))
	}
}

// TestCheckWritable checks that CheckWritable returns an error if controllers cannot be delegated, and
// removes the cgroup that it creates.
func TestCheckWritable(t *testing.T) {
	h, root := copyRecorded(t)
	dir := filepath.Join(root, "sys/fs/cgroup")
	before, _ := os.ReadDir(dir)
	controllers := filepath.Join(dir, "cgroup.subtree_control")
	if err := os.Mkdir(controllers, 0o755); err != nil { // a directory in place of a file makes writes fail
		t.Fatal(err)
	}
	if err := h.CheckWritable(); err == nil || !strings.Contains(err.Error(), "delegating the memory controller in "+dir) {
		t.Errorf("CheckWritable without delegation: %v, want an error that names %s", err, dir)
	}
	if err := errors.Join(os.Remove(controllers), os.WriteFile(controllers, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := h.CheckWritable(); err != nil {
		t.Errorf("CheckWritable with delegation: %v, want no error", err)
	}
	if after, _ := os.ReadDir(dir); len(after) != len(before)+1 {
		t.Errorf("entries after the check: %v, want the %d before it and cgroup.subtree_control", after, len(before))
	}
}

func TestSetV2Limits(t *testing.T) {
	h, root := copyRecorded(t)
	dir := filepath.Join(root, "sys/fs/cgroup/node/berthpods/podA")
	for _, name := range []string{"cpu.weight", "cpu.max"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for want, l := range map[string]cgroup.Limits{
		"memory.max=1048576\npids.max=10\ncpu.weight=39\ncpu.max=50000 100000\n": {Memory: 1 << 20, Pids: 10, CPUShares: 1024, CPUQuota: 50_000},
		"memory.max=max\npids.max=max\ncpu.weight=1\ncpu.max=max 100000\n":       {Memory: -1, Pids: -1, CPUShares: 2, CPUQuota: -1},
	} {
		for _, name := range []string{"memory.max", "pids.max", "cpu.weight", "cpu.max"} {
			if err := os.Truncate(filepath.Join(dir, name), 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.SetLimits("/node/berthpods/podA", l); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, name := range []string{"memory.max", "pids.max", "cpu.weight", "cpu.max"} {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			got += name + "=" + string(b) + "\n"
		}
		if got != want {
			t.Errorf("limits\n%swant\n%s", got, want)
		}
	}
}

// TestKillWithoutKillFile checks that Kill signals the processes of the subtree on kernels before 5.14, which have no
// cgroup.kill.
func TestKillWithoutKillFile(t *testing.T) {
	h, root := copyRecorded(t)
	container := filepath.Join(root, "sys/fs/cgroup/killed/container")
	if err := os.MkdirAll(container, 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("/bin/sh", "-c", "read line")
	if _, err := c.StdinPipe(); err != nil { // open until Wait, so that the process waits
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(container, "cgroup.procs"), []byte(strconv.Itoa(c.Process.Pid)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := h.Kill("/killed"); err != nil {
		t.Error(err)
	}
	_ = c.Process.Signal(unix.SIGTERM) // ends the test if Kill has not signaled the process
	_ = c.Wait()
	if got := c.ProcessState.String(); got != "signal: killed" {
		t.Errorf("the process of a descendant ended with %q, want signal: killed", got)
	}
	if err := h.Kill("/absent"); err != nil {
		t.Errorf("killing a cgroup that does not exist: %v, want no error", err)
	}
}
