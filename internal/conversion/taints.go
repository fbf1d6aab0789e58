package conversion

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/engine/tainteviction"
)

// TimedTaints returns a node's taints with the times when they were added. It omits taints with an unknown effect.
func TimedTaints(n *corev1.Node) []model.TimedTaint {
	var out []model.TimedTaint
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		e, ok := convertTaintEffect(t.Effect)
		if !ok {
			continue
		}
		timed := model.TimedTaint{Taint: model.Taint{Key: t.Key, Value: t.Value, Effect: e}}
		if t.TimeAdded != nil {
			timed.Added = t.TimeAdded.Time
		}
		out = append(out, timed)
	}
	return out
}

// TaintEvictionPod converts a pod for engine/tainteviction.
func TaintEvictionPod(p *corev1.Pod) tainteviction.Pod {
	out := tainteviction.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Node: p.Spec.NodeName,
		Deleting: p.DeletionTimestamp != nil, Tolerations: convertTolerations(p.Spec.Tolerations), Bound: p.CreationTimestamp.Time}
	if p.Status.StartTime != nil {
		out.Bound = p.Status.StartTime.Time
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			out.Bound = c.LastTransitionTime.Time
		}
	}
	return out
}

// labelExcludeDisruption is the label of nodes that do not count for the state of their zone.
const labelExcludeDisruption = "node.kubernetes.io/exclude-disruption"

// NodeLifecycleNode converts a node for engine/nodelifecycle.
func NodeLifecycleNode(n *corev1.Node) nodelifecycle.Node {
	_, excluded := n.Labels[labelExcludeDisruption]
	out := nodelifecycle.Node{Name: n.Name, UID: string(n.UID), Excluded: excluded, Created: n.CreationTimestamp.Time,
		Zone: nodelifecycle.ZoneName(firstLabel(n, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion),
			firstLabel(n, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone)),
		Unschedulable: n.Spec.Unschedulable, Taints: TimedTaints(n)}
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		out.Conditions = append(out.Conditions, nodelifecycle.Condition{Type: string(c.Type), Status: nodeConditionStatus(c.Status),
			Reason: c.Reason, Message: c.Message, Heartbeat: c.LastHeartbeatTime.Time, Transition: c.LastTransitionTime.Time})
	}
	return out
}

func firstLabel(n *corev1.Node, keys ...string) string {
	for _, k := range keys {
		if v := n.Labels[k]; v != "" {
			return v
		}
	}
	return ""
}

// nodeConditionStatus converts a condition status. Other values become Unknown.
func nodeConditionStatus(s corev1.ConditionStatus) nodelifecycle.Status {
	switch s {
	case corev1.ConditionTrue:
		return nodelifecycle.True
	case corev1.ConditionFalse:
		return nodelifecycle.False
	}
	return nodelifecycle.Unknown
}
