package e2e

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/volume"
	"github.com/berthproject/berth/internal/testkit/container"
)

// partitionedCluster is a cluster of three machines, each with a container runtime.
type partitionedCluster struct {
	*cluster
	hosts    *networkHosts
	runtimes []*container.Containerd // of n1, n2 and n3
}

// startPartitionedCluster starts a cluster with the nodes n1, n2 and n3.
func startPartitionedCluster(t *testing.T) *partitionedCluster {
	t.Helper()
	c := &partitionedCluster{hosts: newNetworkHosts(t, 3)}
	for range 3 {
		r := container.StartContainerd(t, nil)
		t.Cleanup(func() { unmountVolumes(t, r.Dir+"/a") })
		r.LoadWorkload(t)
		c.runtimes = append(c.runtimes, r)
	}
	h := newTestHome(t)
	config := h.write("loss.yaml", lossConfig)
	// The nodes share the disk of the machine, so there is no threshold for it.
	kubelet := h.write("kubelet.yaml", "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionHard: {memory.available: 10Mi}\n")
	c.cluster = h.up("--nodes", "0", "--config", config, "--listen", c.hosts.address(0)+":0")
	groups, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range c.runtimes {
		name := fmt.Sprintf("n%d", i+1)
		if err := groups.Create(r.Cgroup, cgroup.Limits{Memory: 512 << 20}); err != nil {
			t.Fatal(err)
		}
		c.hosts.start(i+1, h, "agent", "--kubeconfig", c.credential(name, "--node", name), "--config", config, "--config", kubelet, "--node-ip", c.hosts.address(i+1),
			"--runtime-endpoint", "unix://"+r.Socket, "--root-dir", r.Dir+"/a", "--cgroup", r.Cgroup, "--port", "0", "--low-diskspace-threshold-mb", "0")
	}
	c.waitForNodes("n1", "n2", "n3")
	c.mustKubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=180s")
	return c
}

// unmountVolumes unmounts the volumes that an agent with this root directory has left mounted.
func unmountVolumes(t *testing.T, root string) {
	t.Helper()
	volumes, err := volume.New(volume.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	uids, err := volumes.Pods()
	for _, uid := range uids {
		err = errors.Join(err, volumes.Teardown(uid))
	}
	if err != nil {
		t.Error(err)
	}
}

// running returns the IDs of the running containers of a node by the names of their pods. Nodes are
// numbered from 1.
func (c *partitionedCluster) running(node int) map[string]string {
	c.t.Helper()
	list, err := c.runtimes[node-1].Service.ListContainers(c.t.Context(), &cri.ContainerFilter{State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING}})
	if err != nil {
		c.t.Fatal(err)
	}
	out := map[string]string{}
	for _, item := range list {
		out[item.Labels["io.kubernetes.pod.name"]] = item.Id
	}
	return out
}

// web is a Deployment of one pod that prefers n1. The pod is replaced on another node as soon as its node
// is lost.
const web = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "berth.test/workload:1"}]
      tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 0}]
      affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}}]}}
`

// TestNetworkPartition checks that the pods of a disconnected machine are evicted and replaced, but run on
// the machine until it is reconnected. Then the agent stops and removes them, and the pods that were
// deleted by force. A pod that tolerates the taint is not affected.
func TestNetworkPartition(t *testing.T) {
	t.Parallel()
	testPartition(t, 0)
}

// TestSoakNetworkPartition checks the same as TestNetworkPartition with a partition of at least a minute.
func TestSoakNetworkPartition(t *testing.T) {
	if os.Getenv("BERTH_SOAK") == "" {
		t.Skip("takes minutes; make soak runs it")
	}
	testPartition(t, time.Minute)
}

// testPartition disconnects n1 for at least minDuration.
func testPartition(t *testing.T, minDuration time.Duration) {
	start := time.Now()
	c := startPartitionedCluster(t)
	pods := tolerantPod("at-once", "n1", 0) + tolerantPod("after-5s", "n1", 5) + tolerantPod("forced", "n1", 3000) + tolerantPod("tolerant", "n1", -1) + tolerantPod("other-node", "n2", 0)
	c.mustKubectl("apply", "-f", c.write("pods.yaml", web+strings.ReplaceAll(pods, "x:1", container.WorkloadName)))
	c.mustKubectl("rollout", "status", "deployment/web", "--timeout=180s")
	c.mustKubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=180s")
	before := c.running(1)
	webPods := c.webPodsOn("n1")
	if len(before) != 5 || len(webPods) != 1 || before[webPods[0]] == "" {
		t.Fatalf("n1 runs %v, and %v of web according to the API; want one of web and four others", before, webPods)
	}

	t.Logf("all pods run after %.1f s", time.Since(start).Seconds())
	start = time.Now()
	c.hosts.disconnect(1)
	c.waitForNode("n1", corev1.ConditionUnknown, "unreachable:NoExecute", "unreachable:NoSchedule")
	c.waitForTaintEvictions(slices.Sorted(slices.Values(append([]string{"at-once", "after-5s"}, webPods...)))...)
	c.mustKubectl("delete", "pod", "forced", "--grace-period=0", "--force")
	c.mustKubectl("wait", "--for=jsonpath={.status.availableReplicas}=1", "deployment/web", "--timeout=180s")
	time.Sleep(minDuration - time.Since(start)) // returns at once if the time has passed
	if got := c.running(1); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("while disconnected n1 runs %v, want %v", got, before)
	}
	t.Logf("soak: n1 was disconnected for %.1f s", time.Since(start).Seconds())

	c.hosts.reconnect(1)
	reconnected := time.Now()
	c.waitForNode("n1", corev1.ConditionTrue)
	t.Logf("n1 is Ready %.1f s after it was reconnected", time.Since(reconnected).Seconds())
	c.mustKubectl("wait", "--for=delete", "pod/at-once", "pod/after-5s", "--timeout=180s")
	eventually(t, eventTimeout, func() error {
		got := c.running(1)
		for _, name := range append([]string{"at-once", "after-5s", "forced"}, webPods...) {
			if got[name] != "" {
				return fmt.Errorf("n1 still runs %s", name)
			}
		}
		if got["tolerant"] != before["tolerant"] {
			t.Fatalf("pod tolerant runs as container %s, want %s as before the partition", got["tolerant"], before["tolerant"])
		}
		return nil
	})
	c.waitForReadiness(c.withWebPods("tolerant", "other-node"))
	c.waitForCleanup(1)
	t.Logf("soak: the expected state is reached %.1f s after n1 was reconnected", time.Since(reconnected).Seconds())
}

// webPodsOn returns the names of the pods of web on a node.
func (c *partitionedCluster) webPodsOn(node string) []string {
	var out []string
	for _, p := range c.pods() {
		if p.Labels["app"] == "web" && p.Spec.NodeName == node {
			out = append(out, p.Name)
		}
	}
	return out
}

// withWebPods returns the names and those of the pods of web that are not terminating, all with true.
func (c *partitionedCluster) withWebPods(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, p := range c.pods() {
		if p.Labels["app"] == "web" && p.DeletionTimestamp == nil {
			names = append(names, p.Name)
		}
	}
	for _, name := range names {
		out[name] = true
	}
	return out
}

// waitForCleanup waits until a node has sandboxes and directories only of the pods that the API assigns to
// the node.
func (c *partitionedCluster) waitForCleanup(node int) {
	c.t.Helper()
	eventually(c.t, eventTimeout, func() error {
		want := map[string]bool{}
		for _, p := range c.pods() {
			if p.Spec.NodeName == fmt.Sprintf("n%d", node) {
				want[string(p.UID)] = true
			}
		}
		sandboxes, err := c.runtimes[node-1].Service.ListPodSandbox(c.t.Context(), nil)
		if err != nil {
			return err
		}
		for _, b := range sandboxes {
			if !want[b.Metadata.Uid] {
				return fmt.Errorf("the sandbox of pod %s remains", b.Metadata.Name)
			}
		}
		dirs, err := os.ReadDir(c.runtimes[node-1].Dir + "/a/pods")
		for _, d := range dirs {
			if !want[d.Name()] {
				return fmt.Errorf("the directory of pod %s remains", d.Name())
			}
		}
		return err
	})
}
