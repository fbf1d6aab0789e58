package e2e

import (
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/internal/testkit"
)

// noEvictionConfig has eviction thresholds that this machine does not reach, although other tests use it,
// too.
const noEvictionConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
evictionHard: {memory.available: 1Mi, nodefs.available: 1Mi, nodefs.inodesFree: "1", imagefs.available: 1Mi, imagefs.inodesFree: "1", pid.available: "1"}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
`

const realNodePod = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: "berth.dev/workload:1", args: ["-listen=:80"]}]
`

// TestUpRealNode checks that berth up --real-node runs a pod in the embedded runtime. The pod
// continues to run when berth up stops, the next berth up adopts it, and its deletion leaves no
// files.
func TestUpRealNode(t *testing.T) {
	t.Parallel()
	if err := embedded.CheckRequirements(); err != nil {
		testkit.SkipOrFail(t, "embedded runtime", err.Error())
	}
	h := newTestHome(t)
	args := []string{"--real-node", "--runtime", "embedded", "--config", h.write("kubelet.yaml", noEvictionConfig)}
	root := h.path("data/agent")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := embedded.Cleanup(ctx, embedded.Options{Dir: filepath.Join(root, "runtime"), Bridge: bridgeOf(root)}); err != nil {
			t.Errorf("leftovers of the node's runtime: %v", err)
		}
	})
	c := h.up(args...)
	c.mustKubectl("apply", "-f", h.write("web.yaml", realNodePod))
	c.mustKubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=180s")
	if r := c.kubectl("exec", "web", "--", "/workload", "-help"); r.code != 2 || !strings.Contains(r.stderr, "-listen") {
		t.Errorf("exec: got %s, want exit code 2 and the flags", r)
	}
	first := containerOf(c)
	if _, err := net.InterfaceByName(bridgeOf(root)); err != nil {
		t.Errorf("bridge of the pods: %v", err)
	}
	if code := c.proc.stop(); code != 0 || !strings.Contains(c.proc.out.String(), "1 pod keeps running") {
		t.Errorf("exit code %d, want 0 and 1 pod that keeps running: %s", code, c.proc.out.String())
	}
	c = h.up(args...)
	c.mustKubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=180s")
	if restarted := containerOf(c); restarted.ContainerID != first.ContainerID || restarted.RestartCount != 0 {
		t.Errorf("after a restart of berth up: got container %s with %d restarts, want %s with none", restarted.ContainerID, restarted.RestartCount, first.ContainerID)
	}
	c.mustKubectl("delete", "pod", "web", "--timeout=180s")
	eventually(t, eventTimeout, func() error { // the agent removes the files of a pod after the object is deleted
		for _, dir := range []string{"runtime/containers", "runtime/sandboxes", "images/uses", "pods"} {
			if remaining, _ := os.ReadDir(filepath.Join(root, dir)); len(remaining) > 0 {
				return fmt.Errorf("remaining in %s: %v", dir, remaining)
			}
		}
		return nil
	})
	if code := c.proc.stop(); code != 0 || strings.Contains(c.proc.out.String(), "running") {
		t.Errorf("exit code %d, want 0 and no running pod: %s", code, c.proc.out.String())
	}
	if _, err := net.InterfaceByName(bridgeOf(root)); err == nil {
		t.Error("the bridge of the pods exists after the stop, want none")
	}
}

// bridgeOf returns the network device of a node with this directory, as agent/nodeagent
// names it.
func bridgeOf(root string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(root))
	return fmt.Sprintf("berth-%08x", h.Sum32())
}

// containerOf returns the status of the only container of the pod web.
func containerOf(c *cluster) corev1.ContainerStatus {
	c.t.Helper()
	var pod corev1.Pod
	c.json(&pod, "get", "pod", "web")
	if len(pod.Status.ContainerStatuses) != 1 || pod.Status.ContainerStatuses[0].ContainerID == "" {
		c.t.Fatalf("got container statuses %+v, want one with an ID", pod.Status.ContainerStatuses)
	}
	return pod.Status.ContainerStatuses[0]
}
