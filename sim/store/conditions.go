package store

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WithCondition returns a copy of conditions with c set. The transition time changes only with
// the status and has whole seconds, as in the API.
func WithCondition(conditions []corev1.PodCondition, c corev1.PodCondition) []corev1.PodCondition {
	c.LastTransitionTime = metav1.NewTime(c.LastTransitionTime.Truncate(time.Second))
	out := slices.Clone(conditions)
	i := slices.IndexFunc(out, func(o corev1.PodCondition) bool { return o.Type == c.Type })
	if i < 0 {
		return append(out, c)
	}
	if out[i].Status == c.Status {
		c.LastTransitionTime = out[i].LastTransitionTime
	}
	out[i] = c
	return out
}

// PodReady reports whether the Ready condition of a pod is true.
func PodReady(p *corev1.Pod) bool {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// NodeCondition returns a condition of a node, or nil.
func NodeCondition(n *corev1.Node, conditionType corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == conditionType {
			return c
		}
	}
	return nil
}

// NodeConditionStatus returns the status of a condition of a node, or "".
func NodeConditionStatus(n *corev1.Node, conditionType corev1.NodeConditionType) corev1.ConditionStatus {
	if c := NodeCondition(n, conditionType); c != nil {
		return c.Status
	}
	return ""
}
