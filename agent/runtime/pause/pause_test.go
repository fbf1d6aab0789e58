package pause

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/berthproject/berth/internal/testkit"
)

// writeProgram writes the pause program to an executable file.
func writeProgram(t *testing.T) string {
	t.Helper()
	data, err := Program()
	if err != nil {
		if runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" {
			t.Fatal(err)
		}
		testkit.SkipOrFail(t, "pause program", err.Error())
	}
	path := filepath.Join(t.TempDir(), "pause")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPauseExitsOnSignals(t *testing.T) {
	path := writeProgram(t)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		cmd := exec.Command(path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitUntilAsleep(t, cmd.Process.Pid)
		// The exit of a child does not end the program.
		_ = cmd.Process.Signal(syscall.SIGCHLD)
		_ = cmd.Process.Signal(s)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v, want exit code 0", s, err)
		}
	}
}

// TestPauseExitsAsPID1 checks that the program exits on SIGTERM as process 1, for which the kernel
// drops signals with the default action.
func TestPauseExitsAsPID1(t *testing.T) {
	if os.Getuid() != 0 {
		testkit.SkipOrFail(t, "root", "creating a PID namespace requires root")
	}
	cmd := exec.Command(writeProgram(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitUntilAsleep(t, cmd.Process.Pid)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("SIGTERM: %v, want exit code 0", err)
	}
}

// waitUntilAsleep waits until the process blocks in rt_sigtimedwait.
func waitUntilAsleep(t *testing.T, pid int) {
	t.Helper()
	syscallPrefix := map[string]string{"amd64": "128 ", "arm64": "137 "}[runtime.GOARCH]
	for {
		data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/syscall")
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 4 && string(data[:4]) == syscallPrefix {
			return
		}
		runtime.Gosched()
	}
}
