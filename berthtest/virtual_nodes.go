package berthtest

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/nodepressure/usage"
	"github.com/berthproject/berth/sim/store"
)

// defaultPods is the pods capacity of a node whose options set none.
const defaultPods = 110

// createNode creates a ready node.
func (c *VirtualCluster) createNode(n *corev1.Node) {
	n = n.DeepCopy()
	if _, set := n.Status.Capacity[corev1.ResourcePods]; !set {
		n.Status.Capacity[corev1.ResourcePods] = *resource.NewQuantity(defaultPods, resource.DecimalSI)
	}
	store.ApplyDefaults(n)
	c.create(n)
}

// AddNode adds a node, as [Node] does.
func (c *VirtualCluster) AddNode(name string, opts ...NodeOption) {
	c.t.Helper()
	n, err := newNode(name, opts)
	if err != nil {
		c.fatalf("%v", err)
	}
	if _, err := c.Client.CoreV1().Nodes().Get(c.t.Context(), name, metav1.GetOptions{}); err == nil {
		c.fatalf("node %q: already exists", name)
	}
	c.createNode(n)
}

// RemoveNode deletes a Node object. As in Kubernetes, the pod garbage collector deletes its pods later.
func (c *VirtualCluster) RemoveNode(name string) {
	c.t.Helper()
	if err := c.Client.CoreV1().Nodes().Delete(c.t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		c.fatalf("node %q: %v", name, err)
	}
}

// FailNode stops a node's heartbeats, as if the network of the machine failed. After 50 s the node is unreachable.
// Pods without their own tolerations are evicted 300 s later; their objects stay until the node recovers or is removed.
func (c *VirtualCluster) FailNode(name string) {
	c.t.Helper()
	c.requireNode(name)
	c.clock.do(func() { c.world.Agents.Partition(name) })
}

// RecoverNode ends [VirtualCluster.FailNode]. The node's pods continue, except those that were deleted.
func (c *VirtualCluster) RecoverNode(name string) {
	c.t.Helper()
	c.requireNode(name)
	c.clock.do(func() { c.world.Agents.Reconnect(name) })
}

// PressureNode makes a node short of memory ([corev1.NodeMemoryPressure]) or disk ([corev1.NodeDiskPressure]), as if a
// process outside of pods used it. The node sets the condition, rejects new pods and evicts one pod after another
// until [VirtualCluster.RelieveNode]. PressureNode waits for the condition.
func (c *VirtualCluster) PressureNode(name string, condition corev1.NodeConditionType) {
	c.t.Helper()
	text, err := pressureUsage(condition, c.requireNode(name).Status.Capacity)
	if err != nil {
		c.fatalf("node %q: %v", name, err)
	}
	c.setUsage(name, text)
	c.WaitForNode(name, condition, corev1.ConditionTrue)
}

// RelieveNode ends [VirtualCluster.PressureNode]. The condition follows after 5 minutes.
func (c *VirtualCluster) RelieveNode(name string) {
	c.t.Helper()
	c.requireNode(name)
	c.setUsage(name, "")
}

// setUsage changes the usage of a node outside of pods and restarts its agent, which reads the usage
// only at its start.
func (c *VirtualCluster) setUsage(name, text string) {
	c.t.Helper()
	var err error
	c.clock.do(func() {
		c.world.Agents.StopAgent(name)
		err = c.world.API().Update(store.Nodes, name, store.Precondition{}, func(o store.Object) error {
			annotations := maps.Clone(o.GetAnnotations())
			if annotations == nil {
				annotations = map[string]string{}
			}
			if annotations[usage.Annotation] = text; text == "" {
				delete(annotations, usage.Annotation)
			}
			o.SetAnnotations(annotations)
			return nil
		})
		c.world.Agents.StartAgent(name)
	})
	if err != nil {
		c.fatalf("node %q: %v", name, err)
	}
}

// requireNode returns a node, and fails the test if it does not exist.
func (c *VirtualCluster) requireNode(name string) *corev1.Node {
	c.t.Helper()
	n, err := c.Client.CoreV1().Nodes().Get(c.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		c.fatalf("node %q: %v", name, err)
	}
	return n
}
