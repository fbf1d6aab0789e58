package agent

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeConditions returns the pressure conditions, Ready, and the existing conditions of other
// writers. The transition time of a condition changes only with its status.
func (a *Agent) nodeConditions(n *node, existing []corev1.NodeCondition, now metav1.Time) []corev1.NodeCondition {
	out := []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
	}
	if n.pressure != nil {
		for _, c := range n.pressure.Conditions() {
			if i := slices.IndexFunc(out, func(o corev1.NodeCondition) bool { return o.Type == c.Type }); i >= 0 {
				out[i] = c
			} else {
				out = append(out, c)
			}
		}
	}
	out = append(out, a.readyCondition(n))
	for i := range out {
		c := &out[i]
		c.LastHeartbeatTime = now
		if c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = now
		}
		if j := slices.IndexFunc(existing, func(e corev1.NodeCondition) bool { return e.Type == c.Type }); j >= 0 && existing[j].Status == c.Status {
			c.LastTransitionTime = existing[j].LastTransitionTime
		}
	}
	for _, e := range existing {
		if e.Type == outOfDiskCondition {
			continue // n.pressure no longer reports it
		}
		if !slices.ContainsFunc(out, func(c corev1.NodeCondition) bool { return c.Type == e.Type }) {
			out = append(out, e)
		}
	}
	return out
}

func (a *Agent) readyCondition(n *node) corev1.NodeCondition {
	c := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"}
	err := a.podCIDRError(n)
	if err == nil && a.opts.Ready != nil {
		err = a.opts.Ready(n.manifest.Name)
	}
	switch {
	case n.shuttingDown.Load():
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "KubeletNotReady", "node is shutting down"
	case err != nil:
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "KubeletNotReady", err.Error()
	}
	return c
}

// outOfDiskCondition is the type of the condition that is true while the node has less free disk space than its reserve.
const outOfDiskCondition corev1.NodeConditionType = "OutOfDisk"
