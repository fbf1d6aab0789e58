package embedded_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/image/store"
	_ "github.com/berthproject/berth/agent/testprogram" // the program of the built-in image
	"github.com/berthproject/berth/internal/testkit/container"
)

// TestV2BuiltinImage checks limits, statistics, exec and kill with the built-in image. It needs
// only this program, so make test-v2 runs it on a kernel with cgroup v2.
func TestV2BuiltinImage(t *testing.T) {
	h := &harness{container.StartEmbedded(t, false, nil), t}
	if host := h.host(); os.Getenv("BERTH_V2") != "" && host.Mode != cgroup.V2 {
		t.Fatalf("mode %s although BERTH_V2 requires v2", host.Mode)
	}
	ctx := context.Background()
	if err := h.Options.Images.EnsureBuiltin(ctx); err != nil {
		t.Fatal(err)
	}
	builtin := func(name string, args ...string) *cri.ContainerConfig {
		c := config(name, args...)
		c.Image.Image = store.TestProgramImage
		return c
	}
	sb, sandboxConfig := h.createSandbox("builtin", nil)
	if s := h.WaitExited(t, h.run(sb, sandboxConfig, builtin("exit", "-exit=3"))); s.ExitCode != 3 {
		t.Errorf("exited with %d, want 3", s.ExitCode)
	}
	c := builtin("oom", "-memory=300Mi")
	c.Linux.Resources.MemoryLimitInBytes = 100 << 20
	if s := h.WaitExited(t, h.run(sb, sandboxConfig, c)); s.ExitCode != 137 || s.Reason != "OOMKilled" {
		t.Errorf("exited with %d %s, want 137 OOMKilled", s.ExitCode, s.Reason)
	}
	c = builtin("ignores-sigterm", "-ignore-sigterm", "-memory=20Mi", "-lines=1", "-processes=3")
	c.Linux.Resources = &cri.LinuxContainerResources{MemoryLimitInBytes: 200 << 20, CpuShares: 100, CpuQuota: 50_000, CpuPeriod: 100_000}
	id := h.run(sb, sandboxConfig, c)
	h.waitUntil("memory is allocated", func() bool { return strings.Contains(h.output(sandboxConfig, c), "memory done") })
	stats, err := h.Service.ListContainerStats(ctx, &cri.ContainerStatsFilter{Id: id})
	if err != nil || len(stats) != 1 || stats[0].GetMemory().GetWorkingSetBytes().GetValue() < 20<<20 || stats[0].GetCpu().GetUsageCoreNanoSeconds().GetValue() == 0 {
		t.Errorf("statistics %v, %v, want at least 20 MiB and CPU time", stats, err)
	}
	if got, err := h.Service.ExecSync(ctx, id, []string{"/workload", "true"}, 0); err != nil || got.ExitCode != 0 {
		t.Errorf("ExecSync: %v, %v, want exit code 0", got, err)
	}
	if err := h.Service.StopContainer(ctx, id, 0); err != nil {
		t.Fatal(err)
	}
	if s := h.WaitExited(t, id); s.ExitCode != 137 || s.Reason != "Error" {
		t.Errorf("exited with %d %s, want 137 Error", s.ExitCode, s.Reason)
	}
	if err := h.Service.RemovePodSandbox(ctx, sb); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(h.host().Dir("memory", filepath.Join(sandboxConfig.Linux.CgroupParent, id))); !os.IsNotExist(err) {
		t.Errorf("cgroup of a removed container: %v, want it not to exist", err)
	}
	if remaining := h.remainingResources(); len(remaining) != 0 {
		t.Errorf("remaining mounts and processes: %q, want none", remaining)
	}
}
