package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/agent/virtualnode"
	"github.com/berthproject/berth/internal/testkit"
	"github.com/berthproject/berth/internal/testkit/container"
)

// nodeMachine is a cluster of real nodes that share this machine. The agent and the
// container runtime of each node are separate processes, which can be killed.
type nodeMachine struct {
	*cluster
	pool     *virtualnode.Pool
	registry *oci.Registry
	image    string       // of the test program and a shell
	numNodes atomic.Int32 // created so far
}

// realNode is a node of a nodeMachine. Its pods are in a namespace with its name.
type realNode struct {
	*cluster
	name      string
	client    kubernetes.Interface
	node      *virtualnode.Node
	daemon    *containerd.Daemon // nil if pods run in the embedded runtime of the agent
	socket    string
	image     string
	agent     *process
	agentArgs []string // additional flags
}

func newNodeMachine(t *testing.T) *nodeMachine {
	t.Helper()
	h := newTestHome(t)
	m := &nodeMachine{registry: container.Registry(t)}
	var err error
	if m.image, err = m.registry.Add("workload", "1", container.Image(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cleanUpVirtualNodes(t, h.path("virtual")) })
	if m.pool, err = virtualnode.NewPool(h.path("virtual")); err != nil {
		t.Fatal(err)
	}
	m.cluster = h.up("--nodes", "0")
	return m
}

// skipIfMissing skips the test if the machine lacks a requirement of real nodes.
func skipIfMissing(t *testing.T, useEmbedded bool) {
	t.Helper()
	if err := virtualnode.CheckRequirements(); err != nil {
		testkit.SkipOrFail(t, "virtual nodes", err.Error())
	}
	if useEmbedded {
		if err := embedded.CheckRequirements(); err != nil {
			testkit.SkipOrFail(t, "embedded runtime", err.Error())
		}
	} else if err := containerd.CheckRequirements(true); err != nil {
		testkit.SkipOrFail(t, "containerd", err.Error())
	}
}

// add creates a node that exists until the test ends. Its images are in imagefs, or on the node's
// disk if imagefs is empty. startAgent starts its agent.
func (m *nodeMachine) add(t *testing.T, useEmbedded bool, o virtualnode.Options, imagefs string) *realNode {
	t.Helper()
	o.Index = int(m.numNodes.Add(1))
	n := &realNode{cluster: &cluster{testHome{t, m.dir}, m.proc, m.kubeconfig}, name: o.Name, image: m.image}
	n.client = n.cluster.client()
	var err error
	if n.node, err = m.pool.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if useEmbedded {
		t.Cleanup(func() { n.removeRuntime(t) })
		if imagefs != "" {
			container.BindMount(t, imagefs, filepath.Join(n.node.Disk, "agent", "images"))
		}
	} else {
		if imagefs == "" {
			imagefs = n.node.Disk
		}
		n.daemon, n.socket, err = containerd.Start(t.Context(), containerd.Options{
			Dir: filepath.Join(imagefs, "containerd"), State: n.node.RunDir, PodCIDR: n.node.Subnet, Bridge: n.node.Bridge})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.daemon.Stop)
	}
	_, err = n.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n.credential(n.name, "--node", n.name)
	eventually(t, eventTimeout, func() error {
		_, err := n.client.CoreV1().ServiceAccounts(n.name).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	return n
}

func (n *realNode) startAgent(t *testing.T) {
	t.Helper()
	args := []string{"agent", "--kubeconfig", n.path(n.name + ".kubeconfig"), "--cgroup", n.node.Cgroup,
		"--root-dir", filepath.Join(n.node.Disk, "agent"), "--port", "0"}
	if n.daemon != nil {
		args = append(args, "--runtime-endpoint", n.socket)
	} else {
		args = append(args, "--runtime", "embedded", "--insecure-registry", "127.0.0.1", "--pod-cidr", n.node.Subnet)
	}
	n.agent = n.start(append(args, n.agentArgs...)...)
	n.agent.waitForOutput("Agent of node " + n.name)
}

// createPod creates a pod on the node, without the scheduler. If change is not nil, it modifies the pod
// before. args are the arguments of the container.
func (n *realNode) createPod(t *testing.T, name string, change func(*corev1.PodSpec, *corev1.Container), args ...string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{NodeName: n.name, RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To(int64(1)),
			Containers: []corev1.Container{{Name: "main", Image: n.image, Args: args}}},
	}
	if change != nil {
		change(&pod.Spec, &pod.Spec.Containers[0])
	}
	if _, err := n.client.CoreV1().Pods(n.name).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (n *realNode) pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := n.client.CoreV1().Pods(n.name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// waitForPhase waits until a pod has the phase and the reason, and returns the pod.
func (n *realNode) waitForPhase(t *testing.T, name string, phase corev1.PodPhase, reason string) *corev1.Pod {
	t.Helper()
	var p *corev1.Pod
	eventually(t, eventTimeout, func() (err error) {
		if p, err = n.client.CoreV1().Pods(n.name).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			return err
		}
		if p.Status.Phase != phase || p.Status.Reason != reason {
			return fmt.Errorf("pod %s is %s for %q (%s), want %s for %q: %+v", name, p.Status.Phase, p.Status.Reason, p.Status.Message, phase, reason, p.Status.ContainerStatuses)
		}
		return nil
	})
	return p
}

// waitForCondition waits until a condition of the node has the status want.
func (n *realNode) waitForCondition(t *testing.T, kind corev1.NodeConditionType, want corev1.ConditionStatus) {
	t.Helper()
	eventually(t, eventTimeout, func() error {
		node, err := n.client.CoreV1().Nodes().Get(t.Context(), n.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == kind && c.Status == want {
				return nil
			}
		}
		return fmt.Errorf("node has conditions %+v, want %s %s", node.Status.Conditions, kind, want)
	})
}

// deletePods deletes all pods and waits until the node has removed them.
func (n *realNode) deletePods(t *testing.T) {
	t.Helper()
	if err := n.client.CoreV1().Pods(n.name).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 2*eventTimeout, func() error { return n.leftovers(t.Context()) })
}

// usage returns a function that reads the memory usage of the node, and its memory capacity, in bytes.
func (n *realNode) usage(t *testing.T) (read func() (int64, error), capacity int64) {
	t.Helper()
	host, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	g, err := host.Open(n.node.Cgroup)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	if capacity, err = g.Capacity(); err != nil {
		t.Fatal(err)
	}
	return g.Usage, capacity
}

// soaking reports whether make soak runs the test, and emulated whether the test runs on the machine
// of make test-v2.
func soaking() bool  { return os.Getenv("BERTH_SOAK") != "" }
func emulated() bool { return os.Getenv("BERTH_V2") != "" }
