package conversion

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
)

// BudgetPod converts the fields of a pod that disruption budgets read: identity, owner and readiness. The result has
// no Spec. BudgetPod is much faster than Converter.Pod.
func BudgetPod(pod *corev1.Pod) *model.Pod {
	p := &model.Pod{
		Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID),
		Labels:          model.LabelsOf(pod.Labels),
		NodeName:        pod.Spec.NodeName,
		Created:         pod.CreationTimestamp.Time,
		Deleting:        pod.DeletionTimestamp != nil,
		Phase:           phase(pod.Status.Phase),
		Owner:           controllerOf(pod.OwnerReferences),
		ResourceVersion: pod.ResourceVersion,
	}
	for i := range pod.Status.Conditions {
		switch c := &pod.Status.Conditions[i]; {
		case c.Status != corev1.ConditionTrue:
		case c.Type == corev1.PodReady:
			p.Ready = true
		case c.Type == corev1.DisruptionTarget:
			p.DisruptionReason = c.Reason
		}
	}
	return p
}
