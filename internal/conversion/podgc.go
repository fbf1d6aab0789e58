package conversion

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/podgc"
)

// PodGCPod converts a pod for engine/podgc. Its end is the latest of its creation, start and condition transitions.
func PodGCPod(p *corev1.Pod) podgc.Pod {
	out := podgc.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Node: p.Spec.NodeName, Created: p.CreationTimestamp.Time,
		Deleting: p.DeletionTimestamp != nil, Finished: p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
		Ended: p.CreationTimestamp.Time}
	out.Evicted = p.Status.Phase == corev1.PodFailed && p.Status.Reason == "Evicted"
	if o := metav1.GetControllerOfNoCopy(p); o != nil {
		out.Owner = string(o.UID)
	}
	if p.Status.StartTime != nil && p.Status.StartTime.After(out.Ended) {
		out.Ended = p.Status.StartTime.Time
	}
	for i := range p.Status.Conditions {
		if transition := p.Status.Conditions[i].LastTransitionTime.Time; transition.After(out.Ended) {
			out.Ended = transition
		}
	}
	return out
}

// PodGCNode converts a node for engine/podgc.
func PodGCNode(n *corev1.Node) podgc.Node {
	out := podgc.Node{Name: n.Name}
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			out.Ready = c.Status == corev1.ConditionTrue
		}
	}
	for i := range n.Spec.Taints {
		out.OutOfService = out.OutOfService || n.Spec.Taints[i].Key == corev1.TaintNodeOutOfService
	}
	return out
}
