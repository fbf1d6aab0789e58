package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/agent/virtualnode"
	"github.com/berthproject/berth/internal/testkit"
	"github.com/berthproject/berth/internal/testkit/container"
)

// virtualNodeCluster is a cluster with a virtual node, and an image for its pods.
type virtualNodeCluster struct {
	*cluster
	image string
	files int      // number of manifests written
	up    []string // flags of berth up
}

// oneVirtualNode has the flags of berth up for one virtual node.
var oneVirtualNode = []string{"--virtual-nodes", "1", "--virtual-memory", "1Gi", "--virtual-disk", "1Gi"}

// startVirtualNode starts `berth up` with one virtual node whose pods run in containerd.
func startVirtualNode(t *testing.T, args ...string) *virtualNodeCluster {
	t.Helper()
	if err := containerd.CheckRequirements(true); err != nil {
		testkit.SkipOrFail(t, "containerd", err.Error())
	}
	return startVirtualNodeWith(t, "cri", args...)
}

// startVirtualNodeWith starts `berth up` with one virtual node and the given runtime.
func startVirtualNodeWith(t *testing.T, runtime string, args ...string) *virtualNodeCluster {
	t.Helper()
	image, err := container.Registry(t).Add("workload", "1", container.Image(t))
	if err != nil {
		t.Fatal(err)
	}
	h := newTestHome(t)
	t.Cleanup(func() { cleanUpVirtualNodes(t, h.path("data/virtual")) })
	up := slices.Concat(oneVirtualNode, []string{"--runtime", runtime, "--insecure-registry", "127.0.0.1"}, args)
	return &virtualNodeCluster{cluster: h.up(up...), image: image, up: up}
}

// cleanUpVirtualNodes removes the virtual nodes that a failed test has left in dir.
func cleanUpVirtualNodes(t *testing.T, dir string) {
	p, err := virtualnode.NewPool(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.Cleanup(ctx); err != nil {
		t.Error(err)
	}
}

// pod returns a manifest of a pod with one container. The arguments spec and containerFields are
// additional fields in YAML flow style, spec with a comma after each.
func (c *virtualNodeCluster) pod(name, spec, containerFields string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: {app: %s}}\nspec: {terminationGracePeriodSeconds: 2, %scontainers: [{name: main, image: %q, %s}]}\n",
		name, name, spec, c.image, containerFields)
}

// run applies manifests.
func (c *virtualNodeCluster) run(manifests ...string) {
	c.t.Helper()
	c.files++
	c.mustKubectl("apply", "-f", c.write(fmt.Sprintf("pods-%d.yaml", c.files), strings.Join(manifests, "")))
}

func (c *virtualNodeCluster) get(name string) *corev1.Pod {
	c.t.Helper()
	var p corev1.Pod
	c.json(&p, "get", "pod", name)
	return &p
}

// TestContainerdPods checks that pods run in containerd with `berth up` alone, and that no files or
// mounts remain.
func TestContainerdPods(t *testing.T) {
	t.Parallel()
	c := startVirtualNode(t)
	invalid := c.createInvalidPods()
	t.Run("volumes of each kind", c.testVolumeTypes)
	t.Run("invalid pods", func(t *testing.T) { c.checkInvalidPods(t, invalid) })
	c.testPods(t)
}

// TestEmbeddedPods checks that pods run in the embedded runtime with `berth up` alone, and that no files
// or mounts remain.
func TestEmbeddedPods(t *testing.T) {
	t.Parallel()
	if err := embedded.CheckRequirements(); err != nil {
		testkit.SkipOrFail(t, "embedded runtime", err.Error())
	}
	startVirtualNodeWith(t, "embedded").testPods(t)
}

// testPods tests pods of both runtimes and stops the cluster.
func (c *virtualNodeCluster) testPods(t *testing.T) {
	c.mustKubectl("create", "configmap", "settings", "--from-literal=a=from a config map")
	c.mustKubectl("create", "secret", "generic", "key", "--from-literal=b=from a secret")
	// All pods start at the same time. Each is checked below.
	c.run(
		c.pod("web", "", `args: ["-listen=:8080"], readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}`),
		c.pod("exits", "restartPolicy: Never, ", `args: [exit, "7"]`),
		c.pod("crashes", "restartPolicy: OnFailure, ", `args: [exit, "3"]`),
		c.pod("unhealthy", "", `args: ["-listen=:8080", "-unready-after=1s"], livenessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1, failureThreshold: 1}`),
		c.pod("reader", `restartPolicy: Never, volumes: [{name: c, configMap: {name: settings}}, {name: s, secret: {secretName: key}}, {name: e, emptyDir: {}},
  {name: d, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.labels}}]}}],
  initContainers: [{name: before, image: "`+c.image+`", args: [touch, /e/made], volumeMounts: [{name: e, mountPath: /e}]}], `,
			`args: [cat, /c/a, /s/b, /d/name, /e/made], volumeMounts: [{name: c, mountPath: /c}, {name: s, mountPath: /s}, {name: d, mountPath: /d}, {name: e, mountPath: /e}]`),
	)
	t.Run("logs and exec", c.testLogsAndExec)
	t.Run("streams", c.testStreams)
	t.Run("exit and restart", c.testExitAndRestart)
	t.Run("volumes", func(t *testing.T) {
		c.mustKubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/reader", "--timeout=180s")
		want := "from a config mapfrom a secretapp=\"reader\""
		if got := c.mustKubectl("logs", "reader", "-c", "main"); strings.TrimSpace(got) != want {
			t.Errorf("reader printed %q, want %q", got, want)
		}
	})
	t.Run("resize", c.testResize)
	t.Run("debug", c.testDebug)
	t.Run("eviction by memory", c.testMemoryEviction)
	t.Run("restart after kill", c.testRestartAfterKill)
	dir := c.path("data/virtual")
	if code := c.proc.stop(); code != 0 {
		t.Errorf("berth up exited with code %d, want 0: %s", code, c.proc.out.String())
	}
	checkNoLeftovers(t, dir)
}

func (c *virtualNodeCluster) testLogsAndExec(t *testing.T) {
	c.mustKubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=180s")
	if logs := c.mustKubectl("logs", "web"); !strings.Contains(logs, "listening at") {
		t.Errorf("logs of web: got %q, want its address", logs)
	}
	if out := c.mustKubectl("exec", "web", "--", "/workload", "echo", "hello"); out != "hello\n" {
		t.Errorf("exec: got %q, want hello", out)
	}
	web := c.get("web")
	runtime := map[bool]string{false: "containerd://", true: embedded.Name + "://"}[slices.Contains(c.up, "embedded")]
	if web.Status.PodIP == "" || !strings.HasPrefix(web.Status.ContainerStatuses[0].ContainerID, runtime) {
		t.Errorf("web has IP %q, container %q; want an IP and a container of %s", web.Status.PodIP, web.Status.ContainerStatuses[0].ContainerID, runtime)
	}
}

func (c *virtualNodeCluster) testExitAndRestart(t *testing.T) {
	c.mustKubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/exits", "--timeout=180s")
	if end := c.get("exits").Status.ContainerStatuses[0].State.Terminated; end == nil || end.ExitCode != 7 || end.Reason != "Error" {
		t.Errorf("pod exits: got state %+v, want exit code 7 and reason Error", end)
	}
	c.mustKubectl("wait", "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=CrashLoopBackOff", "pod/crashes", "--timeout=180s")
	if last := c.get("crashes").Status.ContainerStatuses[0].LastTerminationState.Terminated; last == nil || last.ExitCode != 3 {
		t.Errorf("pod crashes: got last state %+v, want exit code 3", last)
	}
	// A failing probe ends the container, which is then restarted.
	eventually(t, eventTimeout, func() error {
		if s := c.get("unhealthy").Status.ContainerStatuses[0]; s.RestartCount == 0 {
			return fmt.Errorf("pod unhealthy: got state %+v without a restart, want a restart", s.State)
		}
		return nil
	})
	c.mustKubectl("delete", "pod", "crashes", "unhealthy", "--timeout=180s")
}

// testMemoryEviction checks that only the pod that uses the memory of the node is evicted.
func (c *virtualNodeCluster) testMemoryEviction(t *testing.T) {
	c.run(c.pod("hog", "restartPolicy: Never, ", `args: ["-memory=2Gi", "-memory-rate=300Mi"]`))
	c.mustKubectl("wait", "--for=jsonpath={.status.reason}=Evicted", "pod/hog", "--timeout=180s")
	hog := c.get("hog")
	if hog.Status.Phase != corev1.PodFailed || !strings.Contains(hog.Status.Message, "The node was low on resource: memory") {
		t.Errorf("hog is %s: %s; want Failed because of memory", hog.Status.Phase, hog.Status.Message)
	}
	if web := c.get("web"); web.Status.Phase != corev1.PodRunning || web.Status.ContainerStatuses[0].RestartCount > 0 {
		t.Errorf("web is %s after %d restarts, want Running without a restart", web.Status.Phase, web.Status.ContainerStatuses[0].RestartCount)
	}
}

// testRestartAfterKill checks that the node restarts its pods after kill -9.
func (c *virtualNodeCluster) testRestartAfterKill(t *testing.T) {
	c.proc.kill()
	c.cluster = c.testHome.up(c.up...)
	eventually(t, eventTimeout, func() error {
		web := c.get("web")
		if s := web.Status.ContainerStatuses[0]; s.RestartCount == 0 || !s.Ready {
			return fmt.Errorf("pod web: got status %+v, want a restart and ready", s)
		}
		return nil
	})
	if logs := c.mustKubectl("logs", "web"); !strings.Contains(logs, "listening at") {
		t.Errorf("logs of web: got %q, want its address", logs)
	}
	if exited := c.get("exits"); exited.Status.Phase != corev1.PodFailed || exited.Status.ContainerStatuses[0].State.Terminated.ExitCode != 7 {
		t.Errorf("pod exits is %s: %+v, want Failed with exit code 7", exited.Status.Phase, exited.Status.ContainerStatuses)
	}
}

// checkNoLeftovers checks that a directory has no files or mounts of virtual nodes.
func checkNoLeftovers(t *testing.T, dir string) {
	t.Helper()
	if remaining, _ := filepath.Glob(dir + "/*"); len(remaining) > 0 {
		t.Errorf("got files %v, want none", remaining)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), dir) {
		t.Errorf("got mounts below %s, want none", dir)
	}
}
