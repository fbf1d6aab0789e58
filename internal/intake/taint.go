package intake

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodehealth"
	"github.com/berthproject/berth/engine/taints"
)

// TimedTaints are a node's taints with their times. Those with an effect that nothing acts on are left out.
func TimedTaints(n *corev1.Node) []model.TimedTaint {
	var out []model.TimedTaint
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		e, known := effect(t.Effect)
		if !known {
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

// TaintsPod is what engine/taints reads of a pod.
func TaintsPod(p *corev1.Pod) taints.Pod {
	out := taints.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Node: p.Spec.NodeName,
		Deleting: p.DeletionTimestamp != nil, Tolerations: tolerations(p.Spec.Tolerations), Bound: p.CreationTimestamp.Time}
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

// excludeDisruption is the label of nodes that do not count for the state of their zone.
const excludeDisruption = "node.kubernetes.io/exclude-disruption"

// HealthNode is what engine/nodehealth reads of a node.
func HealthNode(n *corev1.Node) nodehealth.Node {
	_, excluded := n.Labels[excludeDisruption]
	out := nodehealth.Node{Name: n.Name, UID: string(n.UID), Excluded: excluded, Created: n.CreationTimestamp.Time,
		Zone: nodehealth.ZoneName(firstLabel(n, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion),
			firstLabel(n, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone)),
		Unschedulable: n.Spec.Unschedulable, Taints: TimedTaints(n)}
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		out.Conditions = append(out.Conditions, nodehealth.Condition{Type: string(c.Type), Status: healthStatus(c.Status),
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

// healthStatus is a condition's status; what the API does not know counts as unknown.
func healthStatus(s corev1.ConditionStatus) nodehealth.Status {
	switch s {
	case corev1.ConditionTrue:
		return nodehealth.True
	case corev1.ConditionFalse:
		return nodehealth.False
	}
	return nodehealth.Unknown
}
