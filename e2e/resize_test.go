package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// testResize checks that kubectl resizes a running pod without a restart, and that an infeasible and an
// invalid resize are rejected. It reads the limits from the machine's cgroups.
func (c *virtualNodeCluster) testResize(t *testing.T) {
	c.run(c.pod("resized", "", `args: ["-listen=:8080"], resizePolicy: [{resourceName: memory, restartPolicy: NotRequired}],
  resources: {requests: {cpu: 50m, memory: 32Mi}, limits: {cpu: 100m, memory: 64Mi}}`))
	c.mustKubectl("wait", "--for=condition=Ready", "pod/resized", "--timeout=180s")
	first := c.get("resized").Status.ContainerStatuses[0]
	if first.AllocatedResources.Memory().String() != "32Mi" || first.Resources == nil {
		t.Errorf("before the resize: got allocated %v, resources %v; want 32Mi and resources", first.AllocatedResources, first.Resources)
	}
	c.mustKubectl(resizePatch("resized", "150m", "96Mi")...)
	c.mustKubectl("wait", `--for=jsonpath={.status.containerStatuses[0].resources.limits.memory}=96Mi`, "pod/resized", "--timeout=180s")
	c.mustKubectl("wait", `--for=jsonpath={.status.containerStatuses[0].resources.limits.cpu}=150m`, "pod/resized", "--timeout=180s")
	after := c.get("resized")
	cs := after.Status.ContainerStatuses[0]
	if cs.ContainerID != first.ContainerID || cs.RestartCount != 0 {
		t.Errorf("got container %s with %d restarts, want %s with none", cs.ContainerID, cs.RestartCount, first.ContainerID)
	}
	if after.Generation != 2 {
		t.Errorf("got generation %d, want 2", after.Generation)
	}
	if got := cgroupFile(t, cs.ContainerID, "memory/memory.limit_in_bytes", "memory.max"); got != fmt.Sprint(96<<20) {
		t.Errorf("got memory limit %s, want %d", got, 96<<20)
	}
	if got := cgroupFile(t, cs.ContainerID, "cpu/cpu.cfs_quota_us", "cpu.max"); got != "15000" && got != "15000 100000" {
		t.Errorf("got CPU quota %s, want 15000", got)
	}
	c.mustKubectl(resizePatch("resized", "900", "96Mi")...)
	c.mustKubectl("wait", "--for=condition=PodResizePending", "pod/resized", "--timeout=180s")
	for _, cond := range c.get("resized").Status.Conditions {
		if cond.Type == corev1.PodResizePending && (cond.Reason != corev1.PodReasonInfeasible || !strings.Contains(cond.Message, "Node didn't have enough capacity: cpu")) {
			t.Errorf("got condition %+v, want Infeasible for cpu", cond)
		}
	}
	events := c.mustKubectl("get", "events", "--field-selector", "involvedObject.name=resized")
	for _, reason := range []string{"ResizeStarted", "ResizeCompleted", "ResizeInfeasible"} {
		if !strings.Contains(events, reason) {
			t.Errorf("got events %s, want one with reason %s", events, reason)
		}
	}
	if r := c.kubectl("patch", "pod", "resized", "--subresource", "resize", "-p", `{"spec":{"containers":[{"name":"main","resources":{"limits":{"cpu":"50m","memory":"32Mi"}}}]}}`); r.code == 0 {
		t.Errorf("resize with requests above limits: got %s, want an error", r)
	}
	c.mustKubectl("delete", "pod", "resized", "--wait=false")
}

// resizePatch returns the arguments of kubectl for a resize. cpu is both the request and the limit, memory
// only the limit.
func resizePatch(pod, cpu, memory string) []string {
	return []string{"patch", "pod", pod, "--subresource", "resize", "-p",
		fmt.Sprintf(`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":%[1]q},"limits":{"cpu":%[1]q,"memory":%[2]q}}}]}}`, cpu, memory)}
}

// cgroupFile returns the content of a file in the cgroup of a container on this machine. v1 is
// the controller and the file in cgroup v1, separated by a slash. v2 is the file in cgroup v2.
func cgroupFile(t *testing.T, id, v1, v2 string) string {
	t.Helper()
	_, id, _ = strings.Cut(id, "://")
	root, file := "/sys/fs/cgroup", v2
	controller, name, _ := strings.Cut(v1, "/")
	if _, err := os.Stat(filepath.Join(root, controller)); err == nil {
		root, file = filepath.Join(root, controller), name
	}
	dir := ""
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == id {
			dir = path
			return fs.SkipAll
		}
		return nil
	})
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatalf("reading the cgroup of container %s: %v", id, err)
	}
	return strings.TrimSpace(string(text))
}
