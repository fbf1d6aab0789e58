package embedded_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/internal/testkit"
	"github.com/berthproject/berth/internal/testkit/container"
)

// TestHungVolume checks that a volume whose file system hangs delays the start only for a limited
// time. The error names the volume, and the container can be removed.
func TestHungVolume(t *testing.T) {
	t.Parallel()
	h := &harness{container.StartEmbedded(t, false, func(o *embedded.Options) { o.StartLimit = 15 * time.Second }), t}
	h.LoadWorkload(t)
	hung := filepath.Join(h.Dir, "hung")
	if err := os.Mkdir(hung, 0o755); err != nil {
		t.Fatal(err)
	}
	server, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		testkit.SkipOrFail(t, "fuse", err.Error())
	}
	if err := unix.Mount("hung", hung, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", server.Fd())); err != nil {
		testkit.SkipOrFail(t, "fuse", err.Error())
	}
	t.Cleanup(func() {
		_ = server.Close() // releases the hanging mount
		if err := unix.Unmount(hung, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	sb, sandboxConfig := h.createSandbox("hung", nil)
	c := config("c")
	c.Mounts = []*cri.Mount{{HostPath: hung, ContainerPath: "/data"}}
	id := h.create(sb, sandboxConfig, c)
	err = h.Service.StartContainer(context.Background(), id)
	want := "mounting " + hung + " at /data"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("StartContainer: %v, want %q", err, want)
	}
	if s := h.status(id); s.State != cri.ContainerState_CONTAINER_EXITED || s.ExitCode != 128 || s.Reason != "StartError" || !strings.Contains(s.Message, want) {
		t.Errorf("status %v %d %s %q, want it exited with 128, StartError and a message with %q", s.State, s.ExitCode, s.Reason, s.Message, want)
	}
	if err := h.Service.RemovePodSandbox(context.Background(), sb); err != nil {
		t.Error(err)
	}
}

// TestStartWithoutSandbox checks that a failed start is an exit with containerd's code and
// reason.
func TestStartWithoutSandbox(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("down", nil)
	id := h.create(sb, sandboxConfig, shell("c", "exec sleep 1000"))
	if err := h.Service.StopPodSandbox(context.Background(), sb); err != nil {
		t.Fatal(err)
	}
	if err := h.Service.StartContainer(context.Background(), id); err == nil || !strings.Contains(err.Error(), "sandbox is not ready") {
		t.Errorf("StartContainer: %v, want sandbox is not ready", err)
	}
	for _, when := range []string{"after the failed start", "after a restart of the agent"} {
		if s := h.status(id); s.State != cri.ContainerState_CONTAINER_EXITED || s.ExitCode != 128 || s.Reason != "StartError" {
			t.Errorf("%s: %v %d %s, want it exited with 128, StartError", when, s.State, s.ExitCode, s.Reason)
		}
		h.Restart(t)
	}
}
