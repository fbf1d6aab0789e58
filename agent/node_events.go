package agent

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// conditionEvents has the reasons of the kubelet's events about changed conditions.
var conditionEvents = map[corev1.NodeConditionType]struct{ onTrue, onFalse string }{
	corev1.NodeMemoryPressure: {"NodeHasInsufficientMemory", "NodeHasSufficientMemory"},
	corev1.NodeDiskPressure:   {"NodeHasDiskPressure", "NodeHasNoDiskPressure"},
	corev1.NodePIDPressure:    {"NodeHasInsufficientPID", "NodeHasSufficientPID"},
	corev1.NodeReady:          {"NodeReady", "NodeNotReady"},
}

// maxSimulatedStartEvents is the largest number of simulated nodes of an agent whose start it records. Each node has 5
// such events. With thousands of nodes they would overflow the queue of the recorder, and delay the events about pods.
const maxSimulatedStartEvents = 100

// recordsStart reports whether events report the start of the node.
func (a *Agent) recordsStart(n *node) bool {
	return n.hasRuntime || len(a.nodes) <= maxSimulatedStartEvents
}

// recordNodeStart records that the node's agent starts.
func (a *Agent) recordNodeStart(n *node) {
	if a.recordsStart(n) {
		a.opts.NodeEvents.Event(nodeReference(n.manifest), corev1.EventTypeNormal, "Starting", "Starting kubelet.")
	}
}

// recordStatusChanges records events about the changes that a write of the node's status made.
// oldStatus is nil if the write created the node.
func (a *Agent) recordStatusChanges(n *node, oldStatus, newStatus *corev1.NodeStatus) {
	if oldStatus == nil {
		if !a.recordsStart(n) {
			return
		}
		oldStatus = &corev1.NodeStatus{}
	}
	ref := nodeReference(n.manifest)
	if oldID, newID := oldStatus.NodeInfo.BootID, newStatus.NodeInfo.BootID; oldID != "" && newID != oldID {
		a.opts.NodeEvents.Event(ref, corev1.EventTypeWarning, "Rebooted", fmt.Sprintf("Node %s has been rebooted, boot id: %s", n.manifest.Name, newID))
	}
	oldConditions := map[corev1.NodeConditionType]corev1.ConditionStatus{}
	for i := range oldStatus.Conditions {
		oldConditions[oldStatus.Conditions[i].Type] = oldStatus.Conditions[i].Status
	}
	for i := range newStatus.Conditions {
		c := &newStatus.Conditions[i]
		reasons, ok := conditionEvents[c.Type]
		if !ok || oldConditions[c.Type] == c.Status {
			continue
		}
		reason := reasons.onFalse
		if c.Status == corev1.ConditionTrue {
			reason = reasons.onTrue
		}
		a.recordNodeStatus(n, reason)
	}
}

// recordSchedulable records that the node was cordoned or uncordoned.
func (a *Agent) recordSchedulable(n *node, unschedulable bool) {
	if unschedulable == n.unschedulable {
		return
	}
	n.unschedulable = unschedulable
	if unschedulable {
		a.recordNodeStatus(n, "NodeNotSchedulable")
	} else {
		a.recordNodeStatus(n, "NodeSchedulable")
	}
}

func (a *Agent) recordNodeStatus(n *node, reason string) {
	a.opts.NodeEvents.Eventf(nodeReference(n.manifest), corev1.EventTypeNormal, reason, "Node %s status is now: %s", n.manifest.Name, reason)
}
