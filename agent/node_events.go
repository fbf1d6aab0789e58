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

// recordNodeStart records that the agent of a real node starts.
func (a *Agent) recordNodeStart(n *node) {
	if n.hasRuntime {
		a.opts.NodeEvents.Event(nodeReference(n.manifest), corev1.EventTypeNormal, "Starting", "Starting kubelet.")
	}
}

// recordStatusChanges records events about the changes that a write of the node's status made. was
// is nil if the write created the node; because thousands of simulated nodes may be created at
// once, these get no events then.
func (a *Agent) recordStatusChanges(n *node, was, is *corev1.NodeStatus) {
	if was == nil {
		if !n.hasRuntime {
			return
		}
		was = &corev1.NodeStatus{}
	}
	ref := nodeReference(n.manifest)
	if before, now := was.NodeInfo.BootID, is.NodeInfo.BootID; before != "" && now != before {
		a.opts.NodeEvents.Event(ref, corev1.EventTypeWarning, "Rebooted", fmt.Sprintf("Node %s has been rebooted, boot id: %s", n.manifest.Name, now))
	}
	before := map[corev1.NodeConditionType]corev1.ConditionStatus{}
	for i := range was.Conditions {
		before[was.Conditions[i].Type] = was.Conditions[i].Status
	}
	for i := range is.Conditions {
		c := &is.Conditions[i]
		reasons, ok := conditionEvents[c.Type]
		if !ok || before[c.Type] == c.Status {
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
