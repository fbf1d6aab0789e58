package conversion

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
)

// Node converts a node. It omits taints with an unknown effect.
func (conv *Converter) Node(n *corev1.Node) *model.Node {
	out := &model.Node{
		Name: n.Name, UID: string(n.UID),
		Labels:          model.LabelsOf(n.Labels),
		Unschedulable:   n.Spec.Unschedulable,
		Allocatable:     convertResources(n.Status.Allocatable),
		Capacity:        convertResources(n.Status.Capacity),
		Features:        slices.Clone(n.Status.DeclaredFeatures),
		ResourceVersion: n.ResourceVersion,
	}
	out.NoResizePreemption = n.Spec.PodPreemptionPolicy != nil && len(n.Spec.PodPreemptionPolicy.DisableResizePreemption) > 0
	pods := n.Status.Allocatable[corev1.ResourcePods]
	out.AllocatablePods = pods.Value()
	slices.Sort(out.Features)
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		if e, ok := convertTaintEffect(t.Effect); ok {
			out.Taints = append(out.Taints, model.Taint{Key: t.Key, Value: t.Value, Effect: e})
		}
	}
	for i := range n.Status.Images {
		img := &n.Status.Images[i]
		out.Images = append(out.Images, model.Image{Names: slices.Clone(img.Names), Size: img.SizeBytes})
	}
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		switch p, ok := conditionPressure(c.Type); {
		case c.Type == corev1.NodeReady:
			out.Ready = c.Status == corev1.ConditionTrue
		case ok:
			out.Pressures[p] = model.PressureCondition{True: c.Status == corev1.ConditionTrue, Written: laterTime(c.LastHeartbeatTime, c.LastTransitionTime)}
		}
	}
	return out
}
