package embedded_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// TestContainersSurviveRestart checks that a new agent finds running containers, exit statuses
// and containers that were never started.
func TestContainersSurviveRestart(t *testing.T) {
	h := newHarness(t, true)
	sb, sandboxConfig := h.createSandbox("survives", nil)
	running := shell("running", "trap 'echo requested; exit 9' TERM; echo up; while true; do sleep 0.05; done")
	id := h.run(sb, sandboxConfig, running)
	exited := h.run(sb, sandboxConfig, shell("exited", "exit 4"))
	h.WaitExited(t, exited)
	exiting := shell("exiting", "while [ ! -e /go/now ]; do sleep 0.02; done; echo last line; exit 6")
	signalDir := filepath.Join(h.Dir, "signal")
	if err := os.Mkdir(signalDir, 0o755); err != nil {
		t.Fatal(err)
	}
	exiting.Mounts = []*cri.Mount{{HostPath: signalDir, ContainerPath: "/go"}}
	exitingID := h.run(sb, sandboxConfig, exiting)
	created := h.create(sb, sandboxConfig, config("created"))
	before := h.status(id)

	if err := h.Runtime.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(signalDir, "now"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(h.Options.Dir, "containers", exitingID)
	h.waitUntil("the container has exited", func() bool { _, err := shim.ReadExit(dir); return err == nil })
	h.Restart(t)

	if s := h.status(id); s.State != cri.ContainerState_CONTAINER_RUNNING || s.StartedAt != before.StartedAt {
		t.Errorf("running container: %v since %d, want running since %d", s.State, s.StartedAt, before.StartedAt)
	}
	if s := h.WaitExited(t, exitingID); s.ExitCode != 6 || h.output(sandboxConfig, exiting) != "last line\n" {
		t.Errorf("container that exited without an agent: %d, %q, want 6, last line", s.ExitCode, h.output(sandboxConfig, exiting))
	}
	if s := h.status(exited); s.State != cri.ContainerState_CONTAINER_EXITED || s.ExitCode != 4 {
		t.Errorf("finished container: %v %d, want exited with 4", s.State, s.ExitCode)
	}
	if s := h.status(created); s.State != cri.ContainerState_CONTAINER_CREATED {
		t.Errorf("container that was not started: %v, want it created", s.State)
	}
	if s, err := h.Service.PodSandboxStatus(context.Background(), sb); err != nil || s.State != cri.PodSandboxState_SANDBOX_READY || s.GetNetwork().GetIp() == "" {
		t.Errorf("the sandbox: %v, %v, want it ready with its address", s, err)
	}
	if got := h.exec(id, "echo", "hello"); got != "hello\n" {
		t.Errorf("command in the running container: %q, want hello", got)
	}
	if err := h.Service.StopContainer(context.Background(), id, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if s := h.status(id); s.ExitCode != 9 || !strings.HasSuffix(h.output(sandboxConfig, running), "requested\n") {
		t.Errorf("stopped container: %d, %q, want 9, requested", s.ExitCode, h.output(sandboxConfig, running))
	}
}

// TestKilledShims checks that a container whose shim is killed is killed too and gets an exit status,
// with and without a running agent.
func TestKilledShims(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("shims", nil)
	for _, agentStopped := range []bool{false, true} {
		c := shell("c", "exec sleep 1000")
		if agentStopped {
			c.Metadata.Attempt = 1
		}
		id := h.run(sb, sandboxConfig, c)
		ids, err := shim.ReadProcesses(filepath.Join(h.Options.Dir, "containers", id))
		if err != nil {
			t.Fatal(err)
		}
		if agentStopped {
			if err := h.Runtime.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Kill(ids.Shim, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		h.waitUntil("the container is killed", func() bool { return shim.StartTime(ids.Container) != ids.Start || processExited(ids.Container) })
		if agentStopped {
			h.Restart(t)
		}
		if s := h.WaitExited(t, id); s.ExitCode != 137 || s.Reason != "ContainerStatusUnknown" {
			t.Errorf("agent stopped %v: exited with %d %s, want 137 ContainerStatusUnknown", agentStopped, s.ExitCode, s.Reason)
		}
	}
}

// processExited reports whether a process has exited. It may be a zombie.
func processExited(pid int) bool {
	stat, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// TestKilledSandbox checks that a sandbox whose process is killed is not ready, and that its
// containers can be removed.
func TestKilledSandbox(t *testing.T) {
	h := newHarness(t, true)
	sb, sandboxConfig := h.createSandbox("killed", nil)
	h.run(sb, sandboxConfig, shell("c", "exec sleep 1000"))
	host := h.host()
	if err := host.Kill(sandboxConfig.Linux.CgroupParent); err != nil {
		t.Fatal(err)
	}
	h.waitUntil("the sandbox is not ready", func() bool {
		s, err := h.Service.PodSandboxStatus(context.Background(), sb)
		return err == nil && s.State == cri.PodSandboxState_SANDBOX_NOTREADY
	})
	if _, err := h.Service.CreateContainer(context.Background(), sb, config("late"), sandboxConfig); err == nil {
		t.Error("CreateContainer in a stopped sandbox succeeded, want an error")
	}
	if err := h.Service.RemovePodSandbox(context.Background(), sb); err != nil {
		t.Fatal(err)
	}
	if remaining := h.remainingResources(); len(remaining) != 0 {
		t.Errorf("remaining mounts and processes: %q, want none", remaining)
	}
}

// TestIncompleteObjectsAreRemoved checks that a new agent removes what a killed agent had created
// only in part.
func TestIncompleteObjectsAreRemoved(t *testing.T) {
	h := newHarness(t, true)
	sb, sandboxConfig := h.createSandbox("incomplete", nil)
	complete := h.create(sb, sandboxConfig, config("complete"))
	withoutConfig := h.create(sb, sandboxConfig, config("without-config"))
	withoutRecord := h.create(sb, sandboxConfig, config("without-record"))
	emptyRecord := h.create(sb, sandboxConfig, config("empty-record")) // as after a power failure
	if err := h.Runtime.Close(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join("containers", withoutConfig, shim.ConfigFile), filepath.Join("containers", withoutRecord, "container.json")} {
		if err := os.Remove(filepath.Join(h.Options.Dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(h.Options.Dir, "containers", emptyRecord, "container.json"), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(h.Options.Dir, "sandboxes", "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("unknown", filepath.Join(h.Options.Dir, "network", "10.0.0.1")); err != nil {
		t.Fatal(err)
	}
	h.Restart(t)
	list, err := h.Service.ListContainers(context.Background(), nil)
	if err != nil || len(list) != 1 || list[0].Id != complete {
		t.Errorf("containers %v, %v, want only %s", list, err, complete)
	}
	for dir, want := range map[string]int{"containers": 1, "sandboxes": 1, "network": 1} {
		if entries, err := os.ReadDir(filepath.Join(h.Options.Dir, dir)); err != nil || len(entries) != want {
			t.Errorf("directory %s has %v, %v, want %d entries", dir, entries, err, want)
		}
	}
	if users, err := h.Options.Images.Users(); err != nil || len(users) != 1 {
		t.Errorf("image users %v, %v, want only %s", users, err, complete)
	}
}

// TestImageUseIsReleased checks that a container's reference to its image is released before its
// record is removed.
func TestImageUseIsReleased(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("uses", nil)
	ids := map[string]string{"complete": h.create(sb, sandboxConfig, config("complete")), "incomplete": h.create(sb, sandboxConfig, config("without-record"))}
	uses := filepath.Join(h.Options.Images.Dir(), "uses")
	backup := filepath.Join(h.Dir, "uses")
	if err := errors.Join(os.Rename(uses, backup), os.WriteFile(uses, nil, 0o600)); err != nil { // so that the release fails
		t.Fatal(err)
	}
	if err := h.Service.RemoveContainer(context.Background(), ids["complete"]); err == nil {
		t.Error("RemoveContainer succeeded although the image reference cannot be released, want an error")
	}
	if err := errors.Join(h.Runtime.Close(), os.Remove(filepath.Join(h.Options.Dir, "containers", ids["incomplete"], "container.json"))); err != nil {
		t.Fatal(err)
	}
	if _, err := h.reopen(); err == nil {
		t.Error("New succeeded although the image reference cannot be released, want an error")
	}
	for name, id := range ids {
		if _, err := os.Stat(filepath.Join(h.Options.Dir, "containers", id)); err != nil {
			t.Errorf("container %s was removed before its image reference (%v), want it kept", name, err)
		}
	}
	if err := errors.Join(os.Remove(uses), os.Rename(backup, uses)); err != nil {
		t.Fatal(err)
	}
	h.Restart(t)
	if err := h.Service.RemoveContainer(context.Background(), ids["complete"]); err != nil {
		t.Error(err)
	}
	if users, err := h.Options.Images.Users(); err != nil || len(users) != 0 {
		t.Errorf("image users: %v, %v, want none", users, err)
	}
}

// TestDirectoryLock checks that two runtimes cannot use the same directory.
func TestDirectoryLock(t *testing.T) {
	h := newHarness(t, false)
	const want = "in use by another process"
	if _, err := h.reopen(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("second runtime: %v, want an error with %q", err, want)
	}
}
