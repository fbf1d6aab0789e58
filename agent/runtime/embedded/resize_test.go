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
	"github.com/berthproject/berth/internal/testkit/container"
)

// TestV2UpdateContainerResources checks the limits of a running container in its cgroup. make test-v2
// also runs it on a kernel with cgroup v2.
func TestV2UpdateContainerResources(t *testing.T) {
	h := &harness{container.StartEmbedded(t, false, nil), t}
	ctx := context.Background()
	if err := h.Options.Images.EnsureBuiltin(ctx); err != nil {
		t.Fatal(err)
	}
	sb, sandboxConfig := h.createSandbox("resized", nil)
	c := config("main", "-lines=1")
	c.Image.Image = store.TestProgramImage
	c.Linux.Resources = &cri.LinuxContainerResources{MemoryLimitInBytes: 100 << 20, CpuShares: 100, CpuQuota: 50_000, CpuPeriod: 100_000}
	id := h.run(sb, sandboxConfig, c)
	group := filepath.Join(sandboxConfig.Linux.CgroupParent, id)
	read := func(controller, v1, v2 string) string {
		file := v1
		if h.host().Mode == cgroup.V2 {
			file = v2
		}
		text, err := os.ReadFile(filepath.Join(h.host().Dir(controller, group), file))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	for _, step := range []struct {
		change *cri.LinuxContainerResources
		memory string
		quotas []string // of v1 and v2
	}{
		{&cri.LinuxContainerResources{MemoryLimitInBytes: 200 << 20}, "209715200", []string{"50000", "50000 100000"}},
		{&cri.LinuxContainerResources{CpuShares: 2048, CpuQuota: 200_000, CpuPeriod: 100_000}, "209715200", []string{"200000", "200000 100000"}},
		{&cri.LinuxContainerResources{MemoryLimitInBytes: 64 << 20, CpuQuota: 10_000, CpuPeriod: 100_000}, "67108864", []string{"10000", "10000 100000"}},
	} {
		if err := h.Service.UpdateContainerResources(ctx, id, step.change); err != nil {
			t.Fatal(err)
		}
		quota := read("cpu", "cpu.cfs_quota_us", "cpu.max")
		if memory := read("memory", "memory.limit_in_bytes", "memory.max"); memory != step.memory || quota != step.quotas[0] && quota != step.quotas[1] {
			t.Errorf("after %v: memory %s, quota %s; want %s, %q", step.change, memory, quota, step.memory, step.quotas)
		}
	}
	if err := h.Service.StopContainer(ctx, id, 0); err != nil {
		t.Fatal(err)
	}
	h.WaitExited(t, id)
	if err := h.Service.UpdateContainerResources(ctx, id, &cri.LinuxContainerResources{CpuShares: 2}); err == nil || !strings.Contains(err.Error(), "has exited") {
		t.Errorf("update of an exited container: %v, want an error that it has exited", err)
	}
	if err := h.Service.UpdateContainerResources(ctx, "unknown", nil); err == nil {
		t.Error("update of an unknown container succeeded, want an error")
	}
}
