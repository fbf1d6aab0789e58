package conversion

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// Annotations that descheduling reads.
const (
	annotationConfigSource     = "kubernetes.io/config.source"
	annotationEvict            = "descheduler.alpha.kubernetes.io/evict"
	annotationPreferNoEviction = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
)

// PodDetails returns the fields of a pod that descheduling reads beyond those of Converter.Pod.
func PodDetails(pod *corev1.Pod) *descheduling.PodDetails {
	f := &descheduling.PodDetails{
		HasPriority:    pod.Spec.Priority != nil,
		Guaranteed:     QoS(pod) == corev1.PodQOSGuaranteed,
		ResourceClaims: len(pod.Spec.ResourceClaims) > 0,
		PhaseReason:    pod.Status.Reason,
		Init:           containers(pod.Status.InitContainerStatuses),
		Containers:     containers(pod.Status.ContainerStatuses),
		Ephemeral:      containers(pod.Status.EphemeralContainerStatuses),
	}
	f.Static = cmp.Or(pod.Annotations[annotationConfigSource], "api") != "api"
	_, f.EvictAnyway = pod.Annotations[annotationEvict]
	_, f.PreferNoEviction = pod.Annotations[annotationPreferNoEviction]
	for i := range pod.OwnerReferences {
		o := &pod.OwnerReferences[i]
		f.Owners = append(f.Owners, model.Owner{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: string(o.UID)})
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		f.LocalStorage = f.LocalStorage || v.EmptyDir != nil || v.HostPath != nil
		if v.PersistentVolumeClaim != nil {
			f.Claims = append(f.Claims, v.PersistentVolumeClaim.ClaimName)
		}
	}
	for i := range pod.Spec.Containers {
		f.Images = append(f.Images, pod.Spec.Containers[i].Image)
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		f.Conditions = append(f.Conditions, descheduling.Condition{Type: string(c.Type), Status: string(c.Status),
			Reason: c.Reason, LastTransition: c.LastTransitionTime.Time})
	}
	return f
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
func (in *Converter) DeschedulingPod(pod *corev1.Pod) *descheduling.Pod {
	return &descheduling.Pod{Pod: in.Pod(pod), Details: PodDetails(pod)}
}

// DeschedulingNode converts a node for descheduling, without its pods.
func (in *Converter) DeschedulingNode(n *corev1.Node) *descheduling.Node {
	out := &descheduling.Node{Node: in.Node(n)}
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			out.NotReady = c.Status != corev1.ConditionTrue
		}
	}
	return out
}
