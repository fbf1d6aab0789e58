package conversion

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// Annotations that descheduling reads. A pod with a config source other than the API is static.
const (
	annotationConfigSource     = "kubernetes.io/config.source"
	annotationEvict            = "descheduler.alpha.kubernetes.io/evict"
	annotationPreferNoEviction = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
)

// PodDetails returns the fields of a pod that descheduling reads beyond those of Converter.Pod.
func PodDetails(pod *corev1.Pod) *descheduling.PodDetails {
	d := &descheduling.PodDetails{
		HasPriority:    pod.Spec.Priority != nil,
		Guaranteed:     QoS(pod) == corev1.PodQOSGuaranteed,
		ResourceClaims: len(pod.Spec.ResourceClaims) > 0,
		PhaseReason:    pod.Status.Reason,
		Init:           containers(pod.Status.InitContainerStatuses),
		Containers:     containers(pod.Status.ContainerStatuses),
		Ephemeral:      containers(pod.Status.EphemeralContainerStatuses),
	}
	d.Static = cmp.Or(pod.Annotations[annotationConfigSource], "api") != "api"
	_, d.EvictAnyway = pod.Annotations[annotationEvict]
	_, d.PreferNoEviction = pod.Annotations[annotationPreferNoEviction]
	for i := range pod.OwnerReferences {
		o := &pod.OwnerReferences[i]
		d.Owners = append(d.Owners, model.Owner{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: string(o.UID)})
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		d.LocalStorage = d.LocalStorage || v.EmptyDir != nil || v.HostPath != nil
		if v.PersistentVolumeClaim != nil {
			d.Claims = append(d.Claims, v.PersistentVolumeClaim.ClaimName)
		}
	}
	for i := range pod.Spec.Containers {
		d.Images = append(d.Images, pod.Spec.Containers[i].Image)
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		d.Conditions = append(d.Conditions, descheduling.Condition{Type: string(c.Type), Status: string(c.Status),
			Reason: c.Reason, LastTransition: c.LastTransitionTime.Time})
	}
	return d
}

func containers(statuses []corev1.ContainerStatus) (out []descheduling.Container) {
	for i := range statuses {
		s := &statuses[i]
		c := descheduling.Container{Name: s.Name, Restarts: s.RestartCount}
		if w := s.State.Waiting; w != nil {
			c.Waiting = w.Reason
		}
		if t := s.State.Terminated; t != nil {
			c.Terminated = &descheduling.Termination{Reason: t.Reason, ExitCode: t.ExitCode}
		}
		out = append(out, c)
	}
	return out
}

// DeschedulingPod converts a pod for descheduling.
func (conv *Converter) DeschedulingPod(pod *corev1.Pod) *descheduling.Pod {
	return &descheduling.Pod{Pod: conv.Pod(pod), Details: PodDetails(pod)}
}

// DeschedulingNode converts a node for descheduling, without its pods.
func (conv *Converter) DeschedulingNode(n *corev1.Node) *descheduling.Node {
	return &descheduling.Node{Node: conv.Node(n), NotReady: NotReady(n)}
}

// NotReady reports whether a node has a Ready condition that is not True.
func NotReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	})
}
