package kubeclient

import (
	"bytes"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podStatusPatch is a strategic merge patch of a pod's status as the scheduler and the displacers send it.
type podStatusPatch struct {
	Phase             *corev1.PodPhase `json:"phase"`
	NominatedNodeName json.RawMessage  `json:"nominatedNodeName"`
	Conditions        []conditionPatch `json:"conditions"`
}

type conditionPatch struct {
	Type               corev1.PodConditionType `json:"type"`
	Status             *corev1.ConditionStatus `json:"status"`
	Reason             *string                 `json:"reason"`
	Message            *string                 `json:"message"`
	LastTransitionTime *metav1.Time            `json:"lastTransitionTime"`
}

// mergePodStatus applies a strategic merge patch to a pod's status as package strategicpatch does, but without the
// JSON form of the status. It returns false for a patch of another form.
func mergePodStatus(s corev1.PodStatus, patch []byte) (corev1.PodStatus, bool) {
	var p podStatusPatch
	d := json.NewDecoder(bytes.NewReader(patch))
	d.DisallowUnknownFields() // such as $patch
	nulls := 0
	if err := d.Decode(&p); err != nil || len(p.Conditions) > 1 {
		return s, false
	}
	switch {
	case p.NominatedNodeName == nil:
	case string(p.NominatedNodeName) == "null":
		nulls, s.NominatedNodeName = 1, ""
	case json.Unmarshal(p.NominatedNodeName, &s.NominatedNodeName) != nil:
		return s, false
	}
	if bytes.Count(patch, []byte("null")) != nulls {
		return s, false
	}
	if p.Phase != nil {
		s.Phase = *p.Phase
	}
	for i := range p.Conditions {
		s.Conditions = p.Conditions[i].mergeInto(s.Conditions)
	}
	return s, true
}

// mergeInto returns a copy of conditions with the patch applied. A new condition is the first.
func (p *conditionPatch) mergeInto(conditions []corev1.PodCondition) []corev1.PodCondition {
	out := slices.Clone(conditions)
	i := slices.IndexFunc(out, func(c corev1.PodCondition) bool { return c.Type == p.Type })
	if i < 0 {
		out, i = slices.Insert(out, 0, corev1.PodCondition{Type: p.Type}), 0
	}
	c := &out[i]
	if p.Status != nil {
		c.Status = *p.Status
	}
	if p.Reason != nil {
		c.Reason = *p.Reason
	}
	if p.Message != nil {
		c.Message = *p.Message
	}
	if p.LastTransitionTime != nil {
		c.LastTransitionTime = *p.LastTransitionTime
	}
	return out
}
