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

// podReadyGrace is how long a pod may report Ready on a node that is not ready, when it becomes Ready: an agent that
// restarts reports its pods and its node at about the same time.
const podReadyGrace = time.Second

// watch passes nodes and Leases to the machine and enqueues pods.
func (h *controller) watch(nodes, pods, leases cache.SharedInformer) error {
	if err := workqueue.Watch(nodes, h.onNode); err != nil {
		return err
	}
	if err := workqueue.Watch(leases, func(_, now *coordinationv1.Lease) {
		if now != nil && now.Spec.RenewTime != nil {
			h.stepper.Push(nodelifecycle.LeaseRenewed{Node: now.Name, Time: now.Spec.RenewTime.Time})
		}
	}); err != nil {
		return err
	}
	return workqueue.Watch(pods, func(_, now *corev1.Pod) {
		if now != nil && now.Spec.NodeName != "" && podIsReady(now) {
			if n, err := h.nodes.Get(now.Spec.NodeName); err == nil && !nodeReady(n) {
				h.podQueue.AddAfter(podKey{now.Namespace, now.Name}, podReadyGrace)
			}
		}
	})
}

func (h *controller) onNode(old, now *corev1.Node) {
	switch {
	case old == nil:
		h.recordNode(now, "RegisteredNode", "Registered Node %v in Controller")
	case now == nil:
		h.recordNode(old, "RemovingNode", "Removing Node %v from Controller")
	}
	if now == nil {
		h.stepper.Push(nodelifecycle.NodeDeleted{Node: old.Name})
		return
	}
	h.stepper.Push(conversion.NodeLifecycleNode(now))
	if nodeReady(now) || old != nil && !nodeReady(old) {
		return
	}
	if old != nil {
		h.events.Eventf(now, corev1.EventTypeNormal, "NodeNotReady", "Node %s status is now: NodeNotReady", now.Name)
	}
	for _, obj := range h.podsOnNode(now.Name) {
		h.podQueue.Add(podKey{obj.Namespace, obj.Name})
	}
}

// recordNode records that the controller has found or lost a node.
func (h *controller) recordNode(n *corev1.Node, reason, format string) {
	h.events.Eventf(&corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID}, corev1.EventTypeNormal, reason,
		"Node %s event: "+format, n.Name, n.Name)
}

// podsOnNode returns the pods of a node.
func (h *controller) podsOnNode(node string) (out []*corev1.Pod) {
	list, err := h.pods.ByIndex(byNode, node)
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
