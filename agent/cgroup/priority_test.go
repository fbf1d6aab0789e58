package cgroup_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/berthproject/berth/agent/cgroup"
)

func TestJoinSystem(t *testing.T)   { checkJoinSystem(t, host(t)) }
func TestV2JoinSystem(t *testing.T) { checkJoinSystem(t, hostV2(t)) }

// checkJoinSystem checks that this process joins the cgroup of the control plane only if it is in no other one. It also
// checks that its container runtime gets a separate cgroup, and that both have a weight.
func checkJoinSystem(t *testing.T, h *cgroup.Host) {
	original := cpuCgroup(t, h, os.Getpid())
	leave, err := h.JoinSystem()
	if err != nil {
		t.Fatal(err)
	}
	if original != "/" { // as in a container or a systemd unit
		if got := cpuCgroup(t, h, os.Getpid()); got != original {
			t.Fatalf("the process moved from cgroup %s to %s, want it to stay", original, got)
		}
		return
	}
	defer func() {
		if err := leave(); err != nil {
			t.Error(err)
		}
		if got := cpuCgroup(t, h, os.Getpid()); got != original {
			t.Errorf("cgroup %s after leave, want %s", got, original)
		}
	}()
	if got := cpuCgroup(t, h, os.Getpid()); got != "/berthsystem" {
		t.Errorf("cgroup %s of this process, want /berthsystem", got)
	}

	runtime := exec.Command("/proc/self/exe", "4096")
	runtime.Env = append(os.Environ(), "BERTH_CGROUP_TEST=hold")
	stdin, err := runtime.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stdin.Close()
		_ = runtime.Wait()
		h.RemoveRuntime()
		if err := h.AddRuntimeProcess(runtime.Process.Pid); err != nil {
			t.Errorf("a process that has exited: %v, want no error", err)
		}
		h.RemoveRuntime()
	}()
	if err := h.AddRuntimeProcess(runtime.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if got := cpuCgroup(t, h, runtime.Process.Pid); got != "/berthruntime" {
		t.Errorf("cgroup %s of the runtime, want /berthruntime", got)
	}
	if system, runtime := cpuWeight(t, h, "/berthsystem"), cpuWeight(t, h, "/berthruntime"); system <= runtime {
		t.Errorf("weights: system %d, runtime %d, want more for the system", system, runtime)
	}

	// A process that is in a cgroup already stays there.
	other := group(t, h, cgroup.Limits{})
	if err := h.AddProcess(other, os.Getpid()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.AddProcess("/", os.Getpid()); err != nil {
			t.Error(err)
		}
	}()
	if _, err := h.JoinSystem(); err != nil {
		t.Error(err)
	}
	if got := cpuCgroup(t, h, os.Getpid()); got != other {
		t.Errorf("cgroup %s, want %s", got, other)
	}
}

// cpuCgroup returns the cgroup of a process in the hierarchy of the cpu controller.
func cpuCgroup(t *testing.T, h *cgroup.Host, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if h.Mode == cgroup.V2 && parts[1] == "" || h.Mode != cgroup.V2 && strings.Contains(","+parts[1]+",", ",cpu,") {
			return parts[2]
		}
	}
	t.Fatalf("process %d has no cgroup of the cpu controller:\n%s", pid, text)
	return ""
}

// cpuWeight returns the weight of a cgroup in the units of its hierarchy.
func cpuWeight(t *testing.T, h *cgroup.Host, path string) int {
	t.Helper()
	file := "cpu.shares"
	if h.Mode == cgroup.V2 {
		file = "cpu.weight"
	}
	text, err := os.ReadFile(filepath.Join(h.Dir("cpu", path), file))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLimitsOfExistingCgroup checks that an existing cgroup of runtimes gets its weight, in a tree like that of v1.
func TestLimitsOfExistingCgroup(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/self/mountinfo":           "1 0 0:1 / /memory rw - cgroup cgroup rw,memory\n2 0 0:2 / /cpu rw - cgroup cgroup rw,cpu\n",
		"cpu/berthruntime/cpu.shares":   "2",
		"cpu/berthruntime/cgroup.procs": "",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h, err := cgroup.DetectAt(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.AddRuntimeProcess(1); err != nil {
		t.Fatal(err)
	}
	if got := cpuWeight(t, h, "/berthruntime"); got != 2560 {
		t.Errorf("weight %d, want 2560", got)
	}
}
