package container

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/internal/testkit"
)

// TestRemoveLeftovers checks that what a killed test process has left is removed by the
// next one.
func TestRemoveLeftovers(t *testing.T) {
	switch os.Getenv("BERTH_TEST_LEAVE") {
	case "containerd":
		createLeftovers(t, StartContainerd(t, nil).Harness)
	case "embedded":
		createLeftovers(t, StartEmbedded(t, true, nil).Harness)
	}
	t.Run("containerd", func(t *testing.T) { testRemoveLeftovers(t, "containerd", containerd.CheckRequirements(true)) })
	t.Run("embedded", func(t *testing.T) { testRemoveLeftovers(t, "embedded", embedded.CheckRequirements()) })
}

func createLeftovers(t *testing.T, r *Harness) {
	r.LoadWorkload(t)
	r.Run(t, Pod{Name: "left", Args: []string{"-listen=:80"}})
	t.Logf("made %s", r.Dir)
	os.Exit(3) // no cleanup runs
}

func testRemoveLeftovers(t *testing.T, which string, missing error) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestLeftoversAreSwept$", "-test.v")
	cmd.Env = append(os.Environ(), "BERTH_TEST_LEAVE="+which)
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 3 {
		if missing != nil {
			testkit.SkipOrFail(t, which, missing.Error())
		}
		t.Fatalf("the test that leaves something did not come so far: %s", out)
	}
	left, _ := filepath.Glob("/tmp/bt" + strconv.Itoa(cmd.Process.Pid) + "-*")
	if len(left) != 1 {
		t.Fatalf("left %q, want one directory; it said: %s", left, out)
	}
	removeLeftovers()
	if _, err := os.Stat(left[0]); !os.IsNotExist(err) {
		t.Errorf("%s is still there", left[0])
	}
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range commands {
		if data, _ := os.ReadFile(path); bytes.Contains(data, []byte(left[0])) {
			t.Errorf("a process is left: %q", data)
		}
	}
	if _, err := net.InterfaceByName(bridgeName(cmd.Process.Pid, 1)); err == nil {
		t.Error("its bridge is left")
	}
}
