package embedded_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/agent/runtime/embedded/shim"
	"github.com/berthproject/berth/internal/testkit/container"
)

// TestStoppedZygote checks that a command and a container fail to start if a signal has stopped the zygote. They are
// not started later, and a new zygote starts the next ones.
func TestStoppedZygote(t *testing.T) {
	t.Parallel()
	h := &harness{container.StartEmbedded(t, false, func(o *embedded.Options) { o.StartLimit = 15 * time.Second }), t}
	h.LoadWorkload(t)
	sb, sandboxConfig := h.createSandbox("stopped", nil)
	first := h.run(sb, sandboxConfig, shell("first", "exec sleep 1000"))
	zygote := h.zygotes()[0]
	if err := syscall.Kill(zygote, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	abandoned := h.create(sb, sandboxConfig, shell("abandoned", "exec sleep 1000"))
	other := h.create(sb, sandboxConfig, shell("other", "exec sleep 1000"))
	if err := h.Service.StartContainer(context.Background(), abandoned); err == nil || !strings.Contains(err.Error(), "did not respond") {
		t.Errorf("StartContainer: %v, want did not respond", err)
	}
	_ = syscall.Kill(zygote, syscall.SIGCONT)
	h.waitUntil("the stopped zygote has exited", func() bool { return processExited(zygote) })
	if err := h.Service.StartContainer(context.Background(), other); err != nil {
		t.Errorf("StartContainer after the zygote exited: %v, want no error", err)
	}
	h.checkCommandOfStoppedZygote(first)
	for _, when := range []string{"after the failed start", "after a restart of the agent"} {
		if s := h.status(abandoned); s.State != cri.ContainerState_CONTAINER_EXITED || s.ExitCode != 128 || s.Reason != "StartError" {
			t.Errorf("%s: %v %d %s, want it exited with 128, StartError", when, s.State, s.ExitCode, s.Reason)
		}
		h.Restart(t)
	}
	if ids, err := shim.ReadProcesses(filepath.Join(h.Options.Dir, "containers", abandoned)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("processes of the abandoned container: %v, %v, want no record", ids, err)
	}
}

// checkCommandOfStoppedZygote checks that a command times out while the zygote is stopped. This process does not fork
// instead, and the command does not run later.
func (h *harness) checkCommandOfStoppedZygote(id string) {
	h.t.Helper()
	zygote := h.zygotes()[0]
	if err := syscall.Kill(zygote, syscall.SIGSTOP); err != nil {
		h.t.Fatal(err)
	}
	_, err := h.Service.ExecSync(context.Background(), id, []string{"/bin/touch", "/started"}, time.Second)
	if status.Code(err) != codes.DeadlineExceeded {
		h.t.Errorf("ExecSync: %v, want a timeout", err)
	}
	if err := syscall.Kill(zygote, syscall.SIGCONT); err != nil {
		h.t.Fatal(err)
	}
	if got := h.exec(id, "/bin/ls", "/"); !strings.Contains(got, "bin") || strings.Contains(got, "started") {
		h.t.Errorf("got files %q, want bin, and not that of the abandoned command", got)
	}
}

// TestOpenFileLimit checks that a container has the same limit of open files as other children of
// this program.
func TestOpenFileLimit(t *testing.T) {
	var original syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &original); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: original.Max - 100, Max: original.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &original) })
	want, err := exec.Command("/bin/sh", "-c", "ulimit -n").Output()
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{container.StartEmbedded(t, false, nil), t}
	h.LoadWorkload(t)
	sb, sandboxConfig := h.createSandbox("limit", nil)
	if got, _ := h.outputAndCode(sb, sandboxConfig, shell("c", "ulimit -n")); got != string(want) {
		t.Errorf("open file limit is %q, want %q", got, want)
	}
}
