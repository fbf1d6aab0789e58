package embedded_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/internal/testkit/container"
)

// harness runs pods with several containers on an embedded runtime.
type harness struct {
	*container.Embedded
	t *testing.T
}

// newHarness starts a runtime and loads the image of the test program.
func newHarness(t *testing.T, withNetwork bool) *harness {
	t.Helper()
	t.Parallel() // mostly waiting
	r := container.StartEmbedded(t, withNetwork, nil)
	r.LoadWorkload(t)
	return &harness{r, t}
}

// createSandbox creates a sandbox with logs in h.Dir/log/NAME. It returns the ID and configuration.
// change, if not nil, changes the configuration first.
func (h *harness) createSandbox(name string, change func(*cri.PodSandboxConfig)) (string, *cri.PodSandboxConfig) {
	h.t.Helper()
	logs := filepath.Join(h.Dir, "log", name)
	if err := os.MkdirAll(logs, 0o755); err != nil {
		h.t.Fatal(err)
	}
	c := &cri.PodSandboxConfig{Metadata: &cri.PodSandboxMetadata{Name: name, Uid: name, Namespace: "default"}, Hostname: name, LogDirectory: logs,
		Linux: &cri.LinuxPodSandboxConfig{CgroupParent: filepath.Join(h.Cgroup, "pod"+name), SecurityContext: &cri.LinuxSandboxSecurityContext{
			NamespaceOptions: &cri.NamespaceOption{Pid: cri.NamespaceMode_CONTAINER}}}}
	if h.CIDR == "" {
		c.Linux.SecurityContext.NamespaceOptions.Network = cri.NamespaceMode_NODE
	}
	if change != nil {
		change(c)
	}
	id, err := h.Service.RunPodSandbox(context.Background(), c, "")
	if err != nil {
		h.t.Fatalf("pod %s: %v", name, err)
	}
	return id, c
}

// config returns the configuration of a container with the log NAME.log.
func config(name string, args ...string) *cri.ContainerConfig {
	return &cri.ContainerConfig{Metadata: &cri.ContainerMetadata{Name: name}, Image: &cri.ImageSpec{Image: container.WorkloadName}, Args: args,
		LogPath: name + ".log", Linux: &cri.LinuxContainerConfig{Resources: &cri.LinuxContainerResources{}, SecurityContext: &cri.LinuxContainerSecurityContext{}}}
}

// shell returns a container that runs a script.
func shell(name, script string) *cri.ContainerConfig {
	c := config(name)
	c.Command = []string{"/bin/sh", "-c", script}
	return c
}

// create creates a container and returns its ID.
func (h *harness) create(sb string, sandboxConfig *cri.PodSandboxConfig, c *cri.ContainerConfig) string {
	h.t.Helper()
	id, err := h.Service.CreateContainer(context.Background(), sb, c, sandboxConfig)
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

// run creates and starts a container and returns its ID.
func (h *harness) run(sb string, sandboxConfig *cri.PodSandboxConfig, c *cri.ContainerConfig) string {
	h.t.Helper()
	id := h.create(sb, sandboxConfig, c)
	if err := h.Service.StartContainer(context.Background(), id); err != nil {
		h.t.Fatal(err)
	}
	return id
}

// outputAndCode runs a container to completion and returns its output without timestamps and its
// exit code.
func (h *harness) outputAndCode(sb string, sandboxConfig *cri.PodSandboxConfig, c *cri.ContainerConfig) (string, int32) {
	h.t.Helper()
	s := h.WaitExited(h.t, h.run(sb, sandboxConfig, c))
	return h.output(sandboxConfig, c), s.ExitCode
}

// output returns a container's log without timestamps.
func (h *harness) output(sandboxConfig *cri.PodSandboxConfig, c *cri.ContainerConfig) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(sandboxConfig.LogDirectory, c.LogPath))
	if err != nil {
		h.t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(line, " ", 4)
		b.WriteString(fields[3])
	}
	return b.String()
}

// waitUntil waits at most 30 s for ok to return true.
func (h *harness) waitUntil(condition string, ok func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("timed out after 30 s: %s", condition)
		}
	}
}

func (h *harness) status(id string) *cri.ContainerStatus {
	h.t.Helper()
	s, err := h.Service.ContainerStatus(context.Background(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// exec runs a command and returns its output, or the text of the error.
func (h *harness) exec(id string, command ...string) string {
	h.t.Helper()
	got, err := h.Service.ExecSync(context.Background(), id, command, 20*time.Second)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s%s", got.Stdout, got.Stderr)
}

// remainingResources returns the mounts and command lines that contain the runtime's directory.
func (h *harness) remainingResources() (out []string) {
	h.t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, h.Dir+"/") {
			out = append(out, "mount "+line)
		}
	}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if text, _ := os.ReadFile(file); strings.Contains(string(text), h.Dir+"/c/") {
			out = append(out, "process "+string(text))
		}
	}
	return out
}

func itoa(n int) string { return strconv.Itoa(n) }

func (h *harness) host() *cgroup.Host {
	h.t.Helper()
	host, err := cgroup.Detect()
	if err != nil {
		h.t.Fatal(err)
	}
	return host
}

// reopen opens a second runtime in the same directory.
func (h *harness) reopen() (*embedded.Runtime, error) {
	return embedded.New(context.Background(), h.Options)
}
