package container

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Pod is a pod with one container, for tests that need a running container.
type Pod struct {
	Name string // also its UID
	// Image defaults to WorkloadName.
	Image string
	// Command replaces the entrypoint of the image. Args are its arguments.
	Command, Args []string
	// Cgroup is the cgroup parent. It defaults to a new one below r.Cgroup.
	Cgroup string
	// Memory is the memory limit of the container in bytes; 0 for no limit.
	Memory int64
	// HostNetwork runs the pod in the host network.
	HostNetwork bool
}

// Run starts the pod and returns the IDs of its sandbox and container. The log is
// r.Dir/log/NAME/main.log.
func (r *Harness) Run(t testing.TB, p Pod) (sandbox, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	config := r.sandboxConfig(t, p)
	sandbox, err := r.Service.RunPodSandbox(ctx, config, "")
	if err != nil {
		t.Fatalf("pod %s: sandbox: %v", p.Name, err)
	}
	if p.Image == "" {
		p.Image = WorkloadName
	}
	id, err = r.Service.CreateContainer(ctx, sandbox, &criapi.ContainerConfig{
		Metadata: &criapi.ContainerMetadata{Name: "main"},
		Image:    &criapi.ImageSpec{Image: p.Image}, Command: p.Command, Args: p.Args, LogPath: "main.log",
		Labels: map[string]string{"io.kubernetes.pod.name": p.Name, "io.kubernetes.pod.namespace": "default",
			"io.kubernetes.pod.uid": p.Name, "io.kubernetes.container.name": "main"},
		Linux: &criapi.LinuxContainerConfig{Resources: &criapi.LinuxContainerResources{MemoryLimitInBytes: p.Memory}},
	}, config)
	if err != nil {
		t.Fatalf("pod %s: container: %v", p.Name, err)
	}
	if err := r.Service.StartContainer(ctx, id); err != nil {
		t.Fatalf("pod %s: start: %v", p.Name, err)
	}
	return sandbox, id
}

func (r *Harness) sandboxConfig(t testing.TB, p Pod) *criapi.PodSandboxConfig {
	t.Helper()
	if p.Cgroup == "" {
		p.Cgroup = filepath.Join(r.Cgroup, "pod"+p.Name)
	}
	logs := filepath.Join(r.Dir, "log", p.Name)
	if err := os.MkdirAll(logs, 0o755); err != nil {
		t.Fatal(err)
	}
	security := &criapi.LinuxSandboxSecurityContext{}
	if p.HostNetwork {
		security.NamespaceOptions = &criapi.NamespaceOption{Network: criapi.NamespaceMode_NODE}
	}
	return &criapi.PodSandboxConfig{
		Metadata:     &criapi.PodSandboxMetadata{Name: p.Name, Uid: p.Name, Namespace: "default"},
		Hostname:     p.Name,
		LogDirectory: logs,
		Labels: map[string]string{"io.kubernetes.pod.name": p.Name, "io.kubernetes.pod.namespace": "default",
			"io.kubernetes.pod.uid": p.Name},
		Linux: &criapi.LinuxPodSandboxConfig{CgroupParent: p.Cgroup, SecurityContext: security},
	}
}

// WaitExited waits until the container has ended and returns its status.
func (r *Harness) WaitExited(t testing.TB, id string) *criapi.ContainerStatus {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		s, err := r.Service.ContainerStatus(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		if s.State == criapi.ContainerState_CONTAINER_EXITED {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("container %s: got state %v after a minute, want exited", id, s.State)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Log returns what a container of Run has printed, in the CRI format.
func (r *Harness) Log(t testing.TB, pod string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.Dir, "log", pod, "main.log"))
	if err != nil {
		t.Fatal(fmt.Errorf("log of pod %s: %w", pod, err))
	}
	return string(data)
}

// WaitForLog waits until a container of Run has printed a text.
func (r *Harness) WaitForLog(t testing.TB, pod, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(r.Log(t, pod), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("pod %s: got log %s after a minute, want %q in it", pod, r.Log(t, pod), text)
		}
	}
}
