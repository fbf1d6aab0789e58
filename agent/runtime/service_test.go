package runtime_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/cri"
	"github.com/berthproject/berth/agent/runtime/embedded/criserver"
	"github.com/berthproject/berth/internal/testkit/container"
)

// TestService checks the contract of runtime.Service for each runtime that the client connects to. Each
// subtest uses its own pod.
func TestService(t *testing.T) {
	t.Run("containerd", func(t *testing.T) {
		r := container.StartContainerd(t, nil)
		testService(t, r.Harness, "berth.dev/pause:1")
		t.Run("Restart", func(t *testing.T) { testRestart(t, r) })
	})
	t.Run("embedded in this process", func(t *testing.T) {
		testService(t, container.StartEmbedded(t, true, nil).Harness, "")
	})
	t.Run("embedded through a socket", func(t *testing.T) {
		r := container.StartEmbedded(t, true, nil)
		r.Harness.Service = serveCRI(t, r)
		testService(t, r.Harness, "")
	})
}

// serveCRI serves an embedded runtime on a socket and returns a client of it.
func serveCRI(t *testing.T, r *container.Embedded) *cri.Client {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	socket, serveErr := filepath.Join(r.Dir, "cri.sock"), make(chan error, 1)
	go func() { serveErr <- criserver.New(r.Runtime).Serve(ctx, socket) }()
	client, err := cri.Dial(ctx, socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		stop()
		if err := <-serveErr; err != nil {
			t.Error(err)
		}
	})
	return client
}

// testService checks one implementation. pause is the name of its sandbox image, "" if it has none.
func testService(t *testing.T, r *container.Harness, pause string) {
	r.LoadWorkload(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	t.Run("Events", func(t *testing.T) { testEvents(ctx, t, r) })
	t.Run("StopContainer", func(t *testing.T) { testStopContainer(ctx, t, r) })
	t.Run("Exec", func(t *testing.T) { testExec(ctx, t, r) })
	t.Run("Images", func(t *testing.T) { testImages(ctx, t, r, pause) })
	t.Run("NotFound", func(t *testing.T) { testNotFound(ctx, t, r) })
}

func testEvents(ctx context.Context, t *testing.T, r *container.Harness) {
	ctx, cancel := context.WithCancel(ctx)
	events, streamErr := make(chan runtime.ContainerEvent, 100), make(chan error, 1)
	go func() { streamErr <- r.Service.Events(ctx, func(e runtime.ContainerEvent) { events <- e }) }()
	// A subscription is not acknowledged: repeat until an event arrives.
	var id string
	for reported := false; !reported; {
		_, id = r.Run(t, container.Pod{Name: "exits-" + time.Now().Format("150405.000000"), Args: []string{"-exit=3"}})
		r.WaitExited(t, id)
		select {
		case e := <-events:
			reported = true
			if e.OOM {
				t.Errorf("event %+v: want an exit", e)
			}
			// The status shows the exit when the event arrives.
			if s, err := r.Service.ContainerStatus(ctx, e.Container); err != nil || s.State != criapi.ContainerState_CONTAINER_EXITED || s.ExitCode != 3 {
				t.Errorf("status of %s: %v, %v, want it exited with 3", e.Container, s, err)
			}
		case <-time.After(time.Second):
		}
	}
	cancel()
	if err := <-streamErr; err == nil {
		t.Error("Events returned nil after its context was canceled, want an error")
	}
}

func testStopContainer(ctx context.Context, t *testing.T, r *container.Harness) {
	sandbox, id := r.Run(t, container.Pod{Name: "ignores-sigterm", Args: []string{"-ignore-sigterm", "-listen=:80"}})
	r.WaitForLog(t, "ignores-sigterm", "listening")
	if err := r.Service.StopContainer(ctx, id, 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if s := r.WaitExited(t, id); s.ExitCode != 137 {
		t.Errorf("exit code %d, want 137", s.ExitCode)
	}
	// Stopping and removing are idempotent.
	for range 2 {
		if err := r.Service.StopContainer(ctx, id, 0); err != nil {
			t.Error(err)
		}
		if err := r.Service.StopPodSandbox(ctx, sandbox); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if err := r.Service.RemoveContainer(ctx, id); err != nil {
			t.Error(err)
		}
		if err := r.Service.RemovePodSandbox(ctx, sandbox); err != nil {
			t.Error(err)
		}
	}
}

func testExec(ctx context.Context, t *testing.T, r *container.Harness) {
	sandbox, id := r.Run(t, container.Pod{Name: "exec", Args: []string{"-listen=:80"}})
	got, err := r.Service.ExecSync(ctx, id, []string{"/bin/sh", "-c", "echo out; echo err >&2; exit 5"}, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Stdout) != "out\n" || string(got.Stderr) != "err\n" || got.ExitCode != 5 {
		t.Errorf("got %q, %q, %d, want out, err, 5", got.Stdout, got.Stderr, got.ExitCode)
	}
	if _, err := r.Service.ExecSync(ctx, id, []string{"/workload", "sleep", "1h"}, time.Second); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("command after its timeout: %v, want DeadlineExceeded", err)
	}
	url, err := r.Service.Exec(ctx, &criapi.ExecRequest{ContainerId: id, Cmd: []string{"/workload", "true"}, Stdout: true})
	if err != nil || url == "" {
		t.Errorf("stream of a command: %q, %v, want a URL", url, err)
	}
	if url, err = r.Service.PortForward(ctx, &criapi.PortForwardRequest{PodSandboxId: sandbox, Port: []int32{80}}); err != nil || url == "" {
		t.Errorf("stream to a port: %q, %v, want a URL", url, err)
	}
	stats, err := r.Service.ListContainerStats(ctx, &criapi.ContainerStatsFilter{Id: id})
	if err != nil || len(stats) != 1 || stats[0].GetMemory().GetUsageBytes().GetValue() == 0 && stats[0].GetMemory().GetWorkingSetBytes().GetValue() == 0 {
		t.Errorf("statistics: %v, %v, want memory of one container", stats, err)
	}
}

// isPinned reports whether the runtime keeps the image, as containerd 2.0 does with the sandbox image.
func isPinned(ctx context.Context, r *container.Harness, image string) bool {
	i, err := r.Service.ImageStatus(ctx, &criapi.ImageSpec{Image: image})
	return err == nil && i.GetPinned()
}

func testImages(ctx context.Context, t *testing.T, r *container.Harness, pause string) {
	registry := container.Registry(t)
	name, err := registry.Add("team/tool", "v1", container.Image(t))
	if err != nil {
		t.Fatal(err)
	}
	registry.RequireLogin("ann", "secret")
	if _, err := r.Service.PullImage(ctx, &criapi.ImageSpec{Image: name}, nil, nil); err == nil {
		t.Error("PullImage without a login succeeded, want an error")
	}
	id, err := r.Service.PullImage(ctx, &criapi.ImageSpec{Image: name}, &criapi.AuthConfig{Username: "ann", Password: "secret"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	image, err := r.Service.ImageStatus(ctx, &criapi.ImageSpec{Image: name})
	if err != nil || image == nil || image.Id != id {
		t.Fatalf("image %s: %v, %v, want id %s", name, image, err, id)
	}
	if name, err := r.Service.SandboxImage(ctx); err != nil || name != pause && !isPinned(ctx, r, pause) {
		t.Errorf("sandbox image %q, %v, want %q, or that the runtime has pinned it", name, err, pause)
	}
	// RemoveImage also removes the name of the test program, which has the same image.
	if err := r.Service.RemoveImage(ctx, &criapi.ImageSpec{Image: id}); err != nil {
		t.Fatal(err)
	}
	remaining, err := r.Service.ListImages(ctx)
	if err != nil || len(remaining) != len(strings.Fields(pause)) || len(remaining) == 1 && remaining[0].RepoTags[0] != pause {
		t.Errorf("remaining images: %v, %v, want %q only", remaining, err, pause)
	}
	r.LoadWorkload(t)
}

func testNotFound(ctx context.Context, t *testing.T, r *container.Harness) {
	if i, err := r.Service.ImageStatus(ctx, &criapi.ImageSpec{Image: "berth.dev/none:1"}); i != nil || err != nil {
		t.Errorf("image: %v, %v, want none and no error", i, err)
	}
	if _, err := r.Service.ContainerStatus(ctx, "none"); status.Code(err) != codes.NotFound {
		t.Errorf("container: %v, want NotFound", err)
	}
	if _, err := r.Service.PodSandboxStatus(ctx, "none"); status.Code(err) != codes.NotFound {
		t.Errorf("sandbox: %v, want NotFound", err)
	}
	registry := container.Registry(t)
	if _, err := r.Service.PullImage(ctx, &criapi.ImageSpec{Image: registry.Host() + "/none:1"}, nil, nil); status.Code(err) != codes.NotFound {
		t.Errorf("pull: %v, want NotFound", err)
	}
}

// testRestart kills the daemon and checks that its containers keep running and that reads are
// delayed but succeed.
func testRestart(t *testing.T, r *container.Containerd) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, id := r.Run(t, container.Pod{Name: "keeps-running", Args: []string{"-listen=:80"}})
	before := r.Pid()
	if err := r.Kill(); err != nil {
		t.Fatal(err)
	}
	s, err := r.Service.ContainerStatus(ctx, id)
	if err != nil || s.State != criapi.ContainerState_CONTAINER_RUNNING {
		t.Errorf("status during the restart: %v, %v, want a running container", s, err)
	}
	for r.Pid() == before {
		time.Sleep(time.Millisecond)
	}
	if s, err = r.Service.ContainerStatus(ctx, id); err != nil || s.State != criapi.ContainerState_CONTAINER_RUNNING {
		t.Errorf("status from the new daemon: %v, %v, want a running container", s, err)
	}
}
