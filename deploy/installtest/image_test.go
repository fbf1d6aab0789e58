package installtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// privateNetwork is the environment variable of a test process in a separate network.
const privateNetwork = "BERTH_PRIVATE_NETWORK"

// electionLease is the Lease of the image's scheduler. That of berth up advertises its support of Holds in the default one.
const electionLease = "image-scheduler"

// network creates a network with a default route, and a /run for the sockets of runtimes. Then it runs its arguments, not
// in place of the shell, which as process 1 waits for the orphans of runtimes.
const network = `mount -t tmpfs tmpfs /run && ip link set lo up && ip link add uplink type bridge && ip address add 198.51.100.1/24 dev uplink &&
ip link set uplink up && ip route add default via 198.51.100.2 && "$0" "$@" || exit 1`

// TestImage runs testImage in a separate network, because only one service proxy can run in a network. All processes end
// with this one.
func TestImage(t *testing.T) {
	if os.Getenv("BERTH_IMAGE") == "" {
		t.Skip("BERTH_IMAGE does not name the file of the image; CI sets it in a later step")
	}
	if os.Getenv(privateNetwork) != "" {
		t.Run("embedded", func(t *testing.T) { testImage(t, "embedded") })
		t.Run("containerd", func(t *testing.T) { testImage(t, "cri") })
		return
	}
	if os.Getuid() != 0 {
		skipOrFail(t, "virtual nodes require root")
	}
	for _, program := range []string{"unshare", "ip", "iptables", "mkfs.ext4", "containerd", "ctr", "runc"} {
		if _, err := exec.LookPath(program); err != nil {
			skipOrFail(t, err.Error())
		}
	}
	tests := exec.Command("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", network, os.Args[0], "-test.run=^TestImage$", "-test.v")
	tests.Env = append(os.Environ(), privateNetwork+"=1")
	tests.Stdout, tests.Stderr = t.Output(), t.Output()
	stopWithTest(tests)
	if err := tests.Run(); err != nil {
		t.Error(err)
	}
}

// skipOrFail skips the test, or fails it if BERTH_REQUIRE is all.
func skipOrFail(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("BERTH_REQUIRE") == "all" {
		t.Fatalf("BERTH_REQUIRE=all forbids skipping: %s", reason)
	}
	t.Skip(reason)
}

// testImage installs the chart with the image on a virtual node. The scheduler of the image places a pod, and its
// descheduler moves the pod when the node gets a taint.
func testImage(t *testing.T, runtime string) {
	c := start(t, "--virtual-nodes", "1", "--nodes", "2", "--runtime", runtime, "--service-proxy", "on")
	t.Cleanup(func() {
		if t.Failed() {
			c.logPods(t)
		}
	})
	waitUntil(t, "node v1 is ready", func(ctx context.Context) error { return c.nodeReady(ctx, "v1") })
	file := os.Getenv("BERTH_IMAGE")
	if runtime == "embedded" {
		runProgram(t, berth(t), "image", "load", "--root-dir", filepath.Join(c.dataDir, "virtual", "v1"), file)
	} else {
		sockets, err := filepath.Glob("/run/berth-*/v1/c.sock")
		if err != nil || len(sockets) != 1 {
			t.Fatalf("found sockets of containerd %q (error %v), want one", sockets, err)
		}
		runProgram(t, "ctr", "--address", sockets[0], "--namespace", "k8s.io", "images", "import", file)
	}
	chart, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(helm(t, c))
	install.ReleaseName, install.Namespace, install.SkipCRDs = "berth", namespace, true
	install.WaitStrategy, install.Timeout = kube.StatusWatcherStrategy, 2*time.Minute
	tag := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "berth-"), "-image.tar")
	if _, err := install.Run(chart, map[string]any{
		"image":       map[string]any{"tag": tag, "pullPolicy": "Never"},
		"scheduler":   map[string]any{"config": map[string]any{"leaderElection": map[string]any{"resourceName": electionLease}}},
		"controller":  map[string]any{"enabled": true},
		"descheduler": map[string]any{"enabled": true, "interval": "1s"},
	}); err != nil {
		t.Fatalf("helm install: %v", err)
	}
	for app, lease := range map[string]string{"berth-scheduler": electionLease, "berth-controller": "berth-controller"} {
		waitUntil(t, "a pod of "+app+" has the Lease "+lease, func(ctx context.Context) error { return c.leaseHeldByPod(ctx, app, lease) })
	}
	c.checkMove(t)
	checkProcesses(t)
	c.checkLogs(t)
}

func (c *cluster) nodeReady(ctx context.Context, name string) error {
	node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			return errors.New(condition.Message)
		}
	}
	return nil
}

// leaseHeldByPod returns an error unless the holder of the Lease is a pod of the application.
func (c *cluster) leaseHeldByPod(ctx context.Context, app, name string) error {
	lease, err := c.client.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return err
	}
	holder := ""
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	if !slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return strings.Contains(holder, p.Name) }) {
		return fmt.Errorf("the holder is %q", holder)
	}
	return nil
}

func runProgram(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
