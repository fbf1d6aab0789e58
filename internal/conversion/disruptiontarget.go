package conversion

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NewDisruptionTarget returns the DisruptionTarget condition, with status True, of a pod that is displaced. reason is
// the condition's reason, such as TerminationByKubelet. A zero time leaves the transition time unset.
func NewDisruptionTarget(reason, message string, at time.Time) corev1.PodCondition {
	return corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(at)}
}

// NewClearedDisruptionTarget returns the DisruptionTarget condition, with status False, of a pod whose displacement did
// not happen.
func NewClearedDisruptionTarget(at time.Time) corev1.PodCondition {
	return corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(at)}
}

// DisruptionTarget returns the DisruptionTarget condition of a pod, whatever its status, or nil if the pod has none.
func DisruptionTarget(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.DisruptionTarget {
			return c
		}
	}
	return nil
}

// ActiveDisruptionTarget returns the DisruptionTarget condition of a pod if its status is True, and nil otherwise.
func ActiveDisruptionTarget(p *corev1.Pod) *corev1.PodCondition {
	if c := DisruptionTarget(p); c != nil && c.Status == corev1.ConditionTrue {
		return c
	}
	return nil
}

// SetDisruptionTarget sets the DisruptionTarget condition of a pod unless it is True already. It reports whether it
// changed the condition, and returns the previous condition or nil.
func SetDisruptionTarget(p *corev1.Pod, c corev1.PodCondition) (changed bool, previous *corev1.PodCondition) {
	existing := DisruptionTarget(p)
	switch {
	case existing == nil:
		p.Status.Conditions = append(p.Status.Conditions, c)
		return true, nil
	case existing.Status == corev1.ConditionTrue:
		return false, nil
	}
	previous = existing.DeepCopy()
	*existing = c
	return true, previous
}

// RestoreDisruptionTarget replaces the DisruptionTarget condition of a pod with c, or removes it if c is nil. It does
// not add a condition to a pod without one.
func RestoreDisruptionTarget(p *corev1.Pod, c *corev1.PodCondition) {
	switch existing := DisruptionTarget(p); {
	case c == nil:
		p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
	case existing != nil:
		*existing = *c
	}
}

// DisruptionTargetPatch returns the entry of a status patch that writes the condition. The entry has no lastProbeTime,
// which this condition does not use.
func DisruptionTargetPatch(c corev1.PodCondition) map[string]any {
	entry := map[string]any{"type": c.Type, "status": c.Status, "lastTransitionTime": c.LastTransitionTime}
	if c.Reason != "" {
		entry["reason"] = c.Reason
	}
	if c.Message != "" {
		entry["message"] = c.Message
	}
	return entry
}
