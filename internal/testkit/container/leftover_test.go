package container

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// leftoverEnv selects the runtime of the helper process of TestRemoveLeftovers.
const leftoverEnv = "BERTH_TEST_LEAVE"

// exitCreated is the exit code of the helper process after it has created leftovers.
const exitCreated = 3

// TestRemoveLeftovers checks that the next test process removes what a killed one has created.
func TestRemoveLeftovers(t *testing.T) {
	switch os.Getenv(leftoverEnv) {
	case "containerd":
		createLeftovers(t, StartContainerd(t, nil).Harness)
	case "embedded":
		createLeftovers(t, StartEmbedded(t, true, nil).Harness)
	}
	for _, runtime := range []string{"containerd", "embedded"} {
		t.Run(runtime, func(t *testing.T) { testRemoveLeftovers(t, runtime) })
	}
}

func createLeftovers(t *testing.T, r *Harness) {
	r.LoadWorkload(t)
	r.Run(t, Pod{Name: "leftover", Args: []string{"-listen=:80"}})
	t.Logf("created %s", r.Dir)
	os.Exit(exitCreated) // without cleanup
}

func testRemoveLeftovers(t *testing.T, runtime string) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestRemoveLeftovers$", "-test.v")
	cmd.Env = append(os.Environ(), leftoverEnv+"="+runtime)
	out, err := cmd.CombinedOutput()
	switch code := cmd.ProcessState.ExitCode(); {
	case code == 0 && bytes.Contains(out, []byte("--- SKIP: TestRemoveLeftovers")):
		t.Skipf("the helper process skipped the test: %s", out)
	case code != exitCreated:
		t.Fatalf("the helper process created no leftovers: %v: %s", err, out)
	}
	leftovers, _ := filepath.Glob("/tmp/bt" + strconv.Itoa(cmd.Process.Pid) + "-*")
	if len(leftovers) != 1 {
		t.Fatalf("got leftovers %q, want one directory; output: %s", leftovers, out)
	}
	removeLeftovers()
	if _, err := os.Stat(leftovers[0]); !os.IsNotExist(err) {
		t.Errorf("directory %s was not removed", leftovers[0])
	}
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range commands {
		if data, _ := os.ReadFile(path); bytes.Contains(data, []byte(leftovers[0])) {
			t.Errorf("process was not killed: %q", data)
		}
	}
	if _, err := net.InterfaceByName(bridgeName(cmd.Process.Pid, 1)); err == nil {
		t.Error("the bridge was not removed")
	}
}
