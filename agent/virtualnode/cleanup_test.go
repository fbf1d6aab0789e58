//go:build linux

package virtualnode

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/internal/testkit"
)

// TestCleanupRemovesRuntimeAndPods removes pods whose daemon no longer runs, as after kill -9 of the
// process that started both.
func TestCleanupRemovesRuntimeAndPods(t *testing.T) {
	p := newPool(t)
	if err := containerd.CheckRequirements(true); err != nil {
		testkit.SkipOrFail(t, "containerd", err.Error())
	}
	n, err := p.Create(t.Context(), Options{Name: "v1", Memory: MinMemory, Disk: 128 << 20})
	if err != nil {
		t.Fatal(err)
	}
	daemon, _, err := containerd.Start(t.Context(), containerd.Options{
		Dir: filepath.Join(n.Disk, "containerd"), State: n.RunDir, PodCIDR: n.Subnet, Bridge: n.Bridge})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(daemon.Stop)
	_, err = daemon.Service().RunPodSandbox(t.Context(), &cri.PodSandboxConfig{
		Metadata:     &cri.PodSandboxMetadata{Name: "remaining", Namespace: "default", Uid: "1"},
		LogDirectory: filepath.Join(n.Disk, "log"),
		PortMappings: []*cri.PortMapping{{ContainerPort: 80, HostPort: 31080}},
		Linux:        &cri.LinuxPodSandboxConfig{CgroupParent: n.Cgroup + "/pod1"},
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	if pids, err := p.host.Procs(n.Cgroup); err != nil || len(pids) == 0 {
		t.Errorf("processes %v in the node's cgroup, %v, want those of the sandbox", pids, err)
	}
	daemon.Stop()
	if err := p.Cleanup(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkNothingRemains(t, p)
	if pids := runtimeProcesses(n.RunDir); len(pids) > 0 {
		t.Errorf("processes %v remain, want none", pids)
	}
	if _, err := os.Stat("/sys/class/net/" + n.Bridge); err == nil {
		t.Errorf("bridge %s remains, want it removed", n.Bridge)
	}
	rules, err := exec.Command("iptables-save", "-t", "nat").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(rules) {
		if bytes.Contains(line, []byte(n.Bridge)) {
			t.Errorf("rule %s remains, want it removed", line)
		}
	}
}
