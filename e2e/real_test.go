package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/agent/virtual"
	"github.com/berthproject/berth/internal/testkit"
	"github.com/berthproject/berth/internal/testkit/container"
)

// realCluster is a cluster with a virtual node, and an image for its pods.
type realCluster struct {
	*cluster
	image string
}

// upReal starts `berth up` with one virtual node.
func upReal(t *testing.T, args ...string) *realCluster {
	t.Helper()
	if err := containerd.Missing(true); err != nil {
		testkit.Skip(t, "containerd", err.Error())
	}
	image, err := container.Registry(t).Add("workload", "1", container.Image(t))
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t)
	t.Cleanup(func() { sweep(t, h.path("data/virtual")) })
	c := h.up(append([]string{"--virtual-nodes", "1", "--virtual-memory", "1Gi", "--virtual-disk", "1Gi"}, args...)...)
	return &realCluster{c, image}
}

// sweep removes what a test that failed has left of its virtual nodes.
func sweep(t *testing.T, place string) {
	p, err := virtual.At(place)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.Sweep(ctx); err != nil {
		t.Error(err)
	}
}

// pod is a manifest of a pod with one container; spec and container are more fields of each, in flow style.
func (c *realCluster) pod(name, spec, container string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: {app: %s}}\nspec: {terminationGracePeriodSeconds: 2, %scontainers: [{name: main, image: %q, %s}]}\n",
		name, name, spec, c.image, container)
}

// run makes pods of manifests.
func (c *realCluster) run(manifests ...string) {
	c.t.Helper()
	cmd := c.write(fmt.Sprintf("pods-%d.yaml", len(manifests)), strings.Join(manifests, ""))
	c.must("apply", "-f", cmd)
}

func (c *realCluster) get(name string) *corev1.Pod {
	c.t.Helper()
	var p corev1.Pod
	c.json(&p, "get", "pod", name)
	return &p
}

// TestRealPods runs pods in containers, from `berth up` alone.
func TestRealPods(t *testing.T) {
	t.Parallel()
	c := upReal(t)
	c.run(
		c.pod("web", "", `args: ["-listen=:8080"], readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}`),
		c.pod("ends", "restartPolicy: Never, ", `args: [exit, "7"]`),
		c.pod("works", "restartPolicy: OnFailure, ", `args: [echo, done]`),
	)
	c.must("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
	if logs := c.must("logs", "web"); !strings.Contains(logs, "listening at") {
		t.Errorf("logs of web: %q", logs)
	}
	c.must("wait", "--for=jsonpath={.status.phase}=Failed", "pod/ends", "--timeout=60s")
	if end := c.get("ends").Status.ContainerStatuses[0].State.Terminated; end == nil || end.ExitCode != 7 || end.Reason != "Error" {
		t.Errorf("ends: %+v, want exit code 7", end)
	}
	c.must("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/works", "--timeout=60s")
	if logs := c.must("logs", "works"); logs != "done\n" {
		t.Errorf("logs of works: %q", logs)
	}
	if out := c.must("exec", "web", "--", "/workload", "echo", "hello"); out != "hello\n" {
		t.Errorf("exec: %q", out)
	}
	place := c.path("data/virtual")
	if code := c.proc.stop(); code != 0 {
		t.Errorf("berth up ended with %d: %s", code, c.proc.out.String())
	}
	noneLeft(t, place)
}

// noneLeft checks that nothing of virtual nodes in a place is left.
func noneLeft(t *testing.T, place string) {
	t.Helper()
	if left, _ := filepath.Glob(place + "/*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), place) {
		t.Errorf("still mounted below %s", place)
	}
}
