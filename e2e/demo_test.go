package e2e

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/agent/virtualnode"
	"github.com/berthproject/berth/internal/testkit"
)

// demoSuccess is the last line of a demo.
const demoSuccess = "5 of 5 acts succeeded."

// TestDemo checks that all acts succeed on virtual nodes, and that the demo removes everything that it created.
func TestDemo(t *testing.T) {
	t.Parallel()
	if err := errors.Join(embedded.CheckRequirements(), virtualnode.CheckRequirements()); err != nil {
		testkit.SkipOrFail(t, "virtual nodes", err.Error())
	}
	h := newTestHome(t)
	t.Cleanup(func() { cleanUpVirtualNodes(t, h.path("state/berth/demo/nodes")) })
	r := h.run("demo")
	if r.code != 0 || !strings.Contains(r.stdout, "Three virtual nodes on this machine") || !strings.Contains(r.stdout, demoSuccess) {
		t.Errorf("berth demo as root: got %s, want exit code 0, virtual nodes and %q", r, demoSuccess)
	}
	checkDemoCleanup(t, h)
}

// TestDemoUnprivileged checks that all acts succeed on simulated nodes without root, and that the demo prints why the
// nodes are simulated.
func TestDemoUnprivileged(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	cmd := h.command("demo")
	if os.Geteuid() == 0 {
		h = publicHome(t)
		binary := h.path("berth")
		if out, err := exec.Command("cp", cmd.Path, binary).CombinedOutput(); err != nil {
			t.Fatalf("copying the binary: %v: %s", err, out)
		}
		cmd = h.command("demo")
		cmd.Path, cmd.Dir = binary, h.dir
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"Three simulated nodes", "not root", demoSuccess} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("got %v, %s; want %q", err, out, want)
		}
	}
	checkDemoCleanup(t, h)
}

// publicHome returns a home directory that all users may use.
func publicHome(t *testing.T) testHome {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "berth-public-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return testHome{t, dir}
}

// TestDemoStopped checks that the demo removes its objects after Ctrl-C in the middle of an act, and after SIGHUP. The
// kernel and the shell send SIGHUP when the terminal closes.
func TestDemoStopped(t *testing.T) {
	t.Parallel()
	c := newTestHome(t).up("--nodes", "1")
	variants := [][]syscall.Signal{{syscall.SIGINT}}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		variants = append(variants, []syscall.Signal{syscall.SIGHUP, syscall.SIGHUP})
	}
	for _, signals := range variants {
		d := c.start("demo", "--simulated", "--kubeconfig", c.kubeconfig, "--acts", "memory")
		d.waitForOutput("Now leaky")
		for _, s := range signals {
			_ = d.cmd.Process.Signal(s)
			time.Sleep(50 * time.Millisecond) // simultaneous signals count as one
		}
		if code := d.wait(); code != 1 {
			t.Errorf("%v: exit code %d, want 1: %s", signals, code, d.out.String())
		}
		if objects := c.mustKubectl("get", "namespaces,nodes,priorityclasses,leases", "-A"); strings.Contains(objects, "demo") {
			t.Errorf("%v: got objects of the demo, want none: %s", signals, objects)
		}
		checkDemoCleanup(t, c.testHome)
	}
}

// checkDemoCleanup checks that a demo has removed everything except, if it failed, its log.
func checkDemoCleanup(t *testing.T, h testHome) {
	t.Helper()
	remaining, _ := filepath.Glob(h.path("state/berth/demo/*"))
	for _, file := range remaining {
		if filepath.Base(file) != "berth.log" {
			t.Errorf("got file %s, want none", file)
		}
	}
	checkNoLeftovers(t, h.path("state/berth/demo/nodes"))
}
