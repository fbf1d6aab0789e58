package cgroup_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/internal/testkit"
)

// TestMain also runs the helper processes of the tests.
func TestMain(m *testing.M) {
	switch os.Getenv("BERTH_CGROUP_TEST") {
	case "":
		os.Exit(m.Run())
	case "hold": // allocate memory, print a line, wait
		bytes, _ := strconv.Atoi(os.Args[1])
		block := make([]byte, bytes)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		fmt.Println("ready")
		_, _ = os.Stdin.Read(make([]byte, 1))
	case "bomb": // fork until refused, in every child too
		for {
			c := exec.Command("/proc/self/exe", os.Args[1:]...)
			c.Env = os.Environ()
			if c.Start() == nil {
				fmt.Println("forked")
			} else {
				time.Sleep(time.Millisecond)
			}
		}
	}
}

// host returns this machine's cgroups. It skips the test if they cannot be created.
func host(t testing.TB) *cgroup.Host {
	t.Helper()
	h, err := cgroup.Detect()
	if err != nil {
		testkit.SkipOrFail(t, "cgroups", err.Error())
	}
	if os.Geteuid() != 0 {
		testkit.SkipOrFail(t, "root", "creating cgroups requires root")
	}
	return h
}

// hostV2 is host for cgroup v2. It skips the test outside the virtual machine of make test-v2.
func hostV2(t *testing.T) *cgroup.Host {
	t.Helper()
	if os.Getenv("BERTH_V2") == "" {
		t.Skip("runs only in the virtual machine of make test-v2")
	}
	h := host(t)
	if h.Mode != cgroup.V2 {
		t.Fatalf("mode %s with BERTH_V2, want %s", h.Mode, cgroup.V2)
	}
	return h
}

// group creates a cgroup and removes it, with its processes, when the test ends.
func group(t testing.TB, h *cgroup.Host, l cgroup.Limits) string {
	t.Helper()
	path := fmt.Sprintf("/berth-test-%d-%d", os.Getpid(), time.Now().UnixNano())
	t.Cleanup(func() {
		if err := h.Kill(path); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := h.Remove(ctx, path); err != nil {
			t.Error(err)
		}
	})
	if err := h.Create(path, l); err != nil {
		t.Fatal(err)
	}
	return path
}

// run starts this binary in the cgroup as the given helper, and waits for its first line.
func run(t testing.TB, h *cgroup.Host, path, helper string, args ...string) *exec.Cmd {
	t.Helper()
	// The shell joins the cgroup before it executes the helper, so the helper never runs outside of it.
	c := exec.Command("/bin/sh", append([]string{"-c", `read line; exec "$0" "$@"`, executable(t)}, args...)...)
	c.Env = append(os.Environ(), "BERTH_CGROUP_TEST="+helper)
	c.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	if err := h.AddProcess(path, c.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatalf("%s printed nothing: %v", helper, err)
	}
	return c
}

func executable(t testing.TB) string {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return name
}
