package embedded_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/berthproject/berth/agent/runtime/embedded/shim"
	"github.com/berthproject/berth/internal/testkit"
)

// TestShimMemory checks that a shim never uses more than 5 MiB and that ps shows its container.
func TestShimMemory(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("small", nil)
	id := h.run(sb, sandboxConfig, shell("main", "echo started; exec sleep 1000"))
	h.waitUntil("the container has printed a line", func() bool {
		text, _ := os.ReadFile(filepath.Join(sandboxConfig.LogDirectory, "main.log"))
		return len(text) > 0
	})
	dir := filepath.Join(h.Options.Dir, "containers", id)
	ids, err := shim.ReadProcesses(dir)
	if err != nil {
		t.Fatal(err)
	}
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", ids.Shim))
	if got := strings.Fields(strings.ReplaceAll(string(line), "\x00", " ")); len(got) != 2 || got[0] != shim.Name || got[1] != dir {
		t.Errorf("command line of the shim is %q, want %s %s", got, shim.Name, dir)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", ids.Shim))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	const limit = 5 << 10
	if kib > limit && !testkit.Race {
		t.Errorf("memory %d KiB, want at most %d KiB", kib, limit)
	}
}

// TestContainersSurviveKilledZygote checks that containers keep running when the zygote is killed,
// and that new ones can be started.
func TestContainersSurviveKilledZygote(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("zygote", nil)
	first := h.run(sb, sandboxConfig, shell("first", "exec sleep 1000"))
	zygotes := h.zygotes()
	if len(zygotes) != 1 {
		t.Fatalf("zygotes of %s: %v, want one", h.Dir, zygotes)
	}
	if err := syscall.Kill(zygotes[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// A zombie is not enough: one of its threads could still receive the next request.
	h.waitUntil("the zygote has been reaped", func() bool { return syscall.Kill(zygotes[0], 0) == syscall.ESRCH })
	if text, code := h.outputAndCode(sb, sandboxConfig, shell("second", "echo runs")); text != "runs\n" || code != 0 {
		t.Errorf("the second container printed %q and exited with %d, want runs and 0", text, code)
	}
	if got := h.exec(first, "/bin/sh", "-c", "echo still"); got != "still\n" {
		t.Errorf("command in the first container: %q, want still", got)
	}
}

// zygotes returns the zygote processes of the runtime.
func (h *harness) zygotes() (out []int) {
	h.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, file := range files {
		if name, _ := os.ReadFile(file); string(name) != "berth-shims\n" {
			continue
		}
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		if strings.Contains(string(env), "BERTH_RUNTIME="+h.Options.Dir+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			out = append(out, pid)
		}
	}
	return out
}
