package agent

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeConditions returns the pressure conditions and Ready. A condition with unchanged status
// keeps its transition time; conditions of other writers are kept.
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
		if j := slices.IndexFunc(existing, func(w corev1.NodeCondition) bool { return w.Type == c.Type }); j >= 0 && existing[j].Status == c.Status {
			c.LastTransitionTime = existing[j].LastTransitionTime
		}
	}
	for _, w := range existing {
		if w.Type == outOfDiskCondition {
			continue // pressure no longer reports it
		}
		if !slices.ContainsFunc(out, func(c corev1.NodeCondition) bool { return c.Type == w.Type }) {
			out = append(out, w)
		}
	}
	return out
}

// readyCondition returns the Ready condition of a node.
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

// outOfDiskCondition is true while the node has less free disk than its reserve.
const outOfDiskCondition corev1.NodeConditionType = "OutOfDisk"
