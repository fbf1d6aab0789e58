package embedded

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/runtime/embedded/shim"
	"github.com/berthproject/berth/internal/testkit"
)

// testShims returns a shimFactory without a runtime.
func testShims(t *testing.T) *shimFactory {
	t.Helper()
	programs, err := openExecutables()
	if err != nil {
		testkit.SkipOrFail(t, "embedded runtime", err.Error())
	}
	s := &shimFactory{executables: programs, dir: t.TempDir(), timeout: forkTimeout, limitCPU: func(int) {}}
	t.Cleanup(func() { s.close(); programs.close() })
	return s
}

// startTestShim starts a shim for an empty container. The shim is not claimed yet.
func startTestShim(t *testing.T, s *shimFactory) (dir string, p *process, report *os.File) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string][]byte{shim.ConfigFile: shim.Config{}.Text(), shim.InitFile: []byte("nothing"), shim.LockFile: nil} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := os.OpenFile(filepath.Join(dir, shim.LockFile), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	sandbox, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(sandbox)
	report, childEnd, err := reportPair(unix.SOCK_STREAM)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(childEnd)
	if p, err = s.startShim(dir, [...]int{shim.PassedStderr: int(lock.Fd()), shim.PassedReport: childEnd, shim.PassedSandbox: sandbox, shim.PassedLock: int(lock.Fd())}); err != nil {
		t.Fatal(err)
	}
	return dir, p, report
}

// TestUnclaimedShimExits checks that an unclaimed shim starts nothing and leaves the container as not started. A
// claimed shim reports the error of its start.
func TestUnclaimedShimExits(t *testing.T) {
	s := testShims(t)
	dir, p, report := startTestShim(t, s)
	if p.wait(200 * time.Millisecond) {
		t.Error("the unclaimed shim has exited within 200 ms, want it to wait")
	}
	if err := report.Close(); err != nil { // as if the agent had exited or given up
		t.Fatal(err)
	}
	if !p.wait(30 * time.Second) {
		t.Fatal("the unclaimed shim did not exit within 30 s")
	}
	for _, file := range []string{shim.ProcessFile, shim.ExitFile} {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			t.Errorf("file %s exists after the exit of an unclaimed shim, want none", file)
		}
	}
	if c := newContainer(dir, containerRecord{}); !c.notStarted() {
		t.Error("notStarted() = false for a container whose shim was not claimed, want true")
	}
	dir, p, report = startTestShim(t, s)
	defer report.Close()
	if _, err := report.Write([]byte{shim.Go}); err != nil {
		t.Fatal(err)
	}
	if !p.wait(30 * time.Second) {
		t.Fatal("the claimed shim of an empty container did not exit within 30 s")
	}
	if e, err := shim.ReadExit(dir); err != nil || e.Reason != "StartError" {
		t.Errorf("claimed shim: %v, %v, want a StartError", e, err)
	}
}

// TestUnclaimedShimsAreReaped checks that unclaimed shims do not stay as zombies.
func TestUnclaimedShimsAreReaped(t *testing.T) {
	s := testShims(t)
	_, p, report := startTestShim(t, s)
	p.close() // not waited for
	s.mu.Lock()
	original := s.zygote
	s.stopZygote()
	s.mu.Unlock()
	if err := report.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); syscall.Kill(-original.pid, 0) != syscall.ESRCH; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the shim or its zygote exists after 30 s, want none")
		}
	}
}

// TestZygoteReplaced checks that the zygote is replaced after maxForks forks.
func TestZygoteReplaced(t *testing.T) {
	s := testShims(t)
	var previous *process
	for n, replaced := range []bool{false, false, true} {
		_, p, report := startTestShim(t, s)
		_ = report.Close()
		if !p.wait(30 * time.Second) {
			t.Fatal("the unclaimed shim did not exit within 30 s")
		}
		s.mu.Lock()
		if n > 0 && (s.zygote != previous) != replaced {
			t.Errorf("before fork %d replaced %v, want %v", n, !replaced, replaced)
		}
		previous = s.zygote
		if n == 1 {
			s.forks = maxForks - 1
		}
		s.mu.Unlock()
	}
}
