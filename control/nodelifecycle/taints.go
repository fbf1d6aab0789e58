package nodelifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pressures are the conditions whose truth is a taint.
var pressures = map[corev1.NodeConditionType]string{
	corev1.NodeMemoryPressure:     corev1.TaintNodeMemoryPressure,
	corev1.NodeDiskPressure:       corev1.TaintNodeDiskPressure,
	corev1.NodePIDPressure:        corev1.TaintNodePIDPressure,
	corev1.NodeNetworkUnavailable: corev1.TaintNodeNetworkUnavailable,
}

// managed are the taints that this loop adds and removes; all others are left.
var managed = []string{
	corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure,
	corev1.TaintNodePIDPressure, corev1.TaintNodeNetworkUnavailable, corev1.TaintNodeUnschedulable,
}

// due are the keys of the NoSchedule taints that a node is to have, sorted.
func due(n *corev1.Node) []string {
	var keys []string
	ready := corev1.ConditionStatus("")
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			ready = c.Status
		}
		if key := pressures[c.Type]; key != "" && c.Status == corev1.ConditionTrue {
			keys = append(keys, key)
		}
	}
	switch ready {
	case corev1.ConditionTrue:
	case corev1.ConditionUnknown:
		keys = append(keys, corev1.TaintNodeUnreachable)
	default:
		keys = append(keys, corev1.TaintNodeNotReady)
	}
	if n.Spec.Unschedulable {
		keys = append(keys, corev1.TaintNodeUnschedulable)
	}
	slices.Sort(keys)
	return keys
}

// taints are the node's taints as they are to be, and whether that is a change.
func taints(n *corev1.Node, now time.Time) ([]corev1.Taint, bool) {
	want := due(n)
	var out []corev1.Taint
	changed := false
	for _, t := range n.Spec.Taints {
		if t.Effect != corev1.TaintEffectNoSchedule || !slices.Contains(managed, t.Key) {
			out = append(out, t)
			continue
		}
		i := slices.Index(want, t.Key)
		if i < 0 {
			changed = true
			continue
		}
		want = slices.Delete(want, i, i+1)
		out = append(out, t)
	}
	for _, key := range want {
		out = append(out, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &metav1.Time{Time: now}})
		changed = true
	}
	return out, changed
}
