package berthtest

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/nodepressure/usage"
	"github.com/berthproject/berth/internal/rungroup"
)

type nodeAgent struct {
	manifest *corev1.Node
	stop     context.CancelFunc
	stopped  chan struct{} // closed when the agent has stopped
}

// startAgent starts the agent of a node. The caller holds c.mu, unless the cluster is starting.
func (c *Cluster) startAgent(manifest *corev1.Node) {
	ctx, stop := context.WithCancel(c.group.Ctx)
	a := &nodeAgent{manifest: manifest, stop: stop, stopped: make(chan struct{})}
	c.agents[manifest.Name] = a
	c.group.WaitGroup.Go(func() {
		defer close(a.stopped)
		defer stop()
		err := rungroup.Run(ctx, func(p *rungroup.Group) error {
			return c.nodes.Start(p, []*corev1.Node{manifest.DeepCopy()})
		})
		if err != nil {
			c.t.Errorf("berthtest: node %s: %v", manifest.Name, err)
		}
	})
}

// AddNode adds a node, as [Node] does, and waits until it accepts pods.
func (c *Cluster) AddNode(name string, opts ...NodeOption) {
	c.t.Helper()
	n, err := newNode(name, opts)
	if err != nil {
		c.fatalf("%v", err)
	}
	c.mu.Lock()
	_, exists := c.agents[name]
	if !exists {
		c.startAgent(n)
	}
	c.mu.Unlock()
	if exists {
		c.fatalf("node %q: already exists", name)
	}
	c.waitUntilUsable(name)
}

// RemoveNode stops a node and deletes its Node object. As in Kubernetes, the pod garbage collector deletes its pods
// later.
func (c *Cluster) RemoveNode(name string) {
	c.t.Helper()
	c.stopAgent(name)
	c.mu.Lock()
	delete(c.agents, name)
	c.mu.Unlock()
	if err := c.Client.CoreV1().Nodes().Delete(c.t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		c.fatalf("node %q: %v", name, err)
	}
}

// FailNode stops a node's heartbeats, as if the network of the machine failed. After [GracePeriod] the node is not
// ready, and pods without their own tolerations are evicted after [TolerationSeconds]. Their objects stay until the node
// recovers or is removed.
func (c *Cluster) FailNode(name string) {
	c.t.Helper()
	c.stopAgent(name)
}

// RecoverNode resumes the heartbeats of a failed node, and waits until it accepts pods. Its pods continue, except
// those that were deleted.
func (c *Cluster) RecoverNode(name string) {
	c.t.Helper()
	c.restart(name, func(*corev1.Node) error { return nil })
	c.waitUntilUsable(name)
}

// PressureNode makes a node short of memory ([corev1.NodeMemoryPressure]) or disk ([corev1.NodeDiskPressure]), as if a
// process outside of pods used it. The node sets the condition, rejects new pods and evicts one pod after another
// until [Cluster.RelieveNode]. For memory it evicts within seconds, for disk about every 13 s, because it first
// deletes images and terminated containers. PressureNode waits for the condition.
func (c *Cluster) PressureNode(name string, condition corev1.NodeConditionType) {
	c.t.Helper()
	c.restart(name, func(n *corev1.Node) (err error) {
		n.Annotations[usage.Annotation], err = pressureUsage(condition, n.Status.Capacity)
		return err
	})
	c.WaitForNode(name, condition, corev1.ConditionTrue)
}

// RelieveNode ends the pressure of [Cluster.PressureNode]. The condition follows after [PressureTransition].
func (c *Cluster) RelieveNode(name string) {
	c.t.Helper()
	c.restart(name, func(n *corev1.Node) error {
		delete(n.Annotations, usage.Annotation)
		return nil
	})
}

// defaultDisk is the disk of a node without ephemeral-storage in its capacity.
const defaultDisk = 100 << 30

// pressureUsage returns the usage annotation of a node under pressure.
func pressureUsage(condition corev1.NodeConditionType, capacity corev1.ResourceList) (string, error) {
	switch condition {
	case corev1.NodeMemoryPressure:
		return fmt.Sprintf("memory=%d", capacity.Memory().Value()), nil
	case corev1.NodeDiskPressure:
		disk := capacity.StorageEphemeral().Value()
		if disk == 0 {
			disk = defaultDisk
		}
		return fmt.Sprintf("disk=%d", disk/100*95), nil // less than 10 % are available
	}
	return "", fmt.Errorf("condition %q: must be %s or %s", condition, corev1.NodeMemoryPressure, corev1.NodeDiskPressure)
}

// stopAgent stops the agent of a node and blocks until it has stopped.
func (c *Cluster) stopAgent(name string) {
	c.t.Helper()
	c.mu.Lock()
	a := c.agents[name]
	c.mu.Unlock()
	if a == nil {
		c.fatalf("node %q: must be a node of an option or of AddNode", name)
	}
	a.stop()
	<-a.stopped
}

// restart restarts the agent of a node with a changed manifest. Its pods continue.
func (c *Cluster) restart(name string, change func(*corev1.Node) error) {
	c.t.Helper()
	c.stopAgent(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	manifest := c.agents[name].manifest.DeepCopy()
	if err := change(manifest); err != nil {
		c.fatalf("node %q: %v", name, err)
	}
	c.startAgent(manifest)
}

// waitUntilUsable waits until a node is ready and does not have the taints of a node that is not ready.
func (c *Cluster) waitUntilUsable(name string) {
	c.t.Helper()
	c.WaitForNode(name, corev1.NodeReady, corev1.ConditionTrue)
	c.Eventually("node "+name+" accepts pods", func(ctx context.Context) error {
		n, err := c.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, taint := range n.Spec.Taints {
			if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
				return fmt.Errorf("taint %s", taint.ToString())
			}
		}
		return nil
	})
}
