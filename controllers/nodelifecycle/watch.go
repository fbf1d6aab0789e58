package nodelifecycle

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/internal/conversion"
)

// podReadyGrace is the delay before a pod that becomes Ready on a node that is not ready is marked not ready. An agent
// that restarts reports its pods and its node at about the same time.
const podReadyGrace = time.Second

// watch passes nodes and Leases to the machine and enqueues pods.
func (c *controller) watch(nodes, pods, leases cache.SharedInformer) error {
	if err := workqueue.Watch(nodes, c.onNode); err != nil {
		return err
	}
	if err := workqueue.Watch(leases, func(_, cur *coordinationv1.Lease) {
		if cur != nil && cur.Spec.RenewTime != nil {
			c.machine.Push(nodelifecycle.LeaseRenewed{Node: cur.Name, Time: cur.Spec.RenewTime.Time})
		}
	}); err != nil {
		return err
	}
	return workqueue.Watch(pods, func(_, cur *corev1.Pod) {
		if cur != nil && cur.Spec.NodeName != "" && podIsReady(cur) {
			if n, err := c.nodes.Get(cur.Spec.NodeName); err == nil && !nodeReady(n) {
				c.podQueue.AddAfter(podKey{cur.Namespace, cur.Name}, podReadyGrace)
			}
		}
	})
}

func (c *controller) onNode(old, cur *corev1.Node) {
	switch {
	case old == nil:
		c.recordNode(cur, "RegisteredNode", "Registered Node %v in Controller")
	case cur == nil:
		c.recordNode(old, "RemovingNode", "Removing Node %v from Controller")
	}
	if cur == nil {
		c.machine.Push(nodelifecycle.NodeDeleted{Node: old.Name})
		return
	}
	c.machine.Push(conversion.NodeLifecycleNode(cur))
	if nodeReady(cur) || old != nil && !nodeReady(old) {
		return
	}
	if old != nil {
		c.events.Eventf(cur, corev1.EventTypeNormal, "NodeNotReady", "Node %s status is now: NodeNotReady", cur.Name)
	}
	for _, obj := range c.podsOnNode(cur.Name) {
		c.podQueue.Add(podKey{obj.Namespace, obj.Name})
	}
}

// recordNode records an event about an added or deleted node.
func (c *controller) recordNode(n *corev1.Node, reason, format string) {
	c.events.Eventf(&corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID}, corev1.EventTypeNormal, reason,
		"Node %s event: "+format, n.Name, n.Name)
}

func (c *controller) podsOnNode(node string) (out []*corev1.Pod) {
	list, err := c.pods.ByIndex(byNode, node)
	if err != nil {
		return nil // the index exists
	}
	for _, obj := range list {
		if p, ok := obj.(*corev1.Pod); ok {
			out = append(out, p)
		}
	}
	return out
}

// nodeReady reports whether a node is ready. A node without the condition counts as ready.
func nodeReady(n *corev1.Node) bool {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return true
}

func podIsReady(p *corev1.Pod) bool {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
