package embedded_test

import (
	"context"
	"strings"
	"testing"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// withTarget makes a container join the PID namespace of another one, and adds capabilities to it.
func withTarget(c *cri.ContainerConfig, id string, capabilities ...string) *cri.ContainerConfig {
	s := c.Linux.SecurityContext
	s.NamespaceOptions = &cri.NamespaceOption{Pid: cri.NamespaceMode_TARGET, TargetId: id}
	s.Capabilities = &cri.Capability{AddCapabilities: capabilities}
	return c
}

// TestTargetContainer checks that an ephemeral container sees the processes of its target, and that no
// container starts next to one that can trace it.
func TestTargetContainer(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("debugged", nil)
	target := h.run(sb, sandboxConfig, shell("main", "exec sleep 1000"))
	if out, code := h.outputAndCode(sb, sandboxConfig, withTarget(shell("debugger", "tr '\\0' ' ' </proc/1/cmdline; exit 5"), target)); code != 5 || !strings.Contains(out, "sleep 1000") {
		t.Errorf("exit code %d, process 1 is %q, want 5 and sleep 1000", code, out)
	}
	other, otherConfig := h.createSandbox("other", nil)
	for name, tc := range map[string]struct {
		config  *cri.ContainerConfig
		sandbox string
		want    string
	}{
		"of another pod":   {withTarget(shell("a", "true"), target), other, "not found in sandbox"},
		"without a target": {withTarget(shell("b", "true"), ""), sb, "target_id: required"},
	} {
		podConfig := sandboxConfig
		if tc.sandbox == other {
			podConfig = otherConfig
		}
		if _, err := h.Service.CreateContainer(context.Background(), tc.sandbox, tc.config, podConfig); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	waiting := h.create(sb, sandboxConfig, withTarget(shell("waiting", "true"), target))
	tracer := h.run(sb, sandboxConfig, withTarget(shell("tracer", "exec sleep 1000"), target, "SYS_PTRACE"))
	if err := h.Service.StartContainer(context.Background(), waiting); err == nil || !strings.Contains(err.Error(), "SYS_PTRACE") {
		t.Errorf("start next to a tracer: %v, want an error with SYS_PTRACE", err)
	}
	if err := h.Service.StopContainer(context.Background(), target, 0); err != nil {
		t.Fatal(err)
	}
	if s := h.WaitExited(t, tracer); s.ExitCode != 137 {
		t.Errorf("the tracer exited with %d after its target, want 137", s.ExitCode)
	}
	if _, err := h.Service.CreateContainer(context.Background(), sb, withTarget(shell("late", "true"), target), sandboxConfig); err == nil || !strings.Contains(err.Error(), "not running") {
		t.Errorf("target that has exited: %v, want not running", err)
	}
}
