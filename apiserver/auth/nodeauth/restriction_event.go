package nodeauth

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

// displacementEvent holds the fields of an event from which commands derive a displacement if it has no record.
type displacementEvent struct {
	reason, host string
	pod          corev1.ObjectReference
}

// displacementEventOf returns these fields of an event. The reason is empty if obj is not an event.
func displacementEventOf(obj runtime.Object) displacementEvent {
	switch e := obj.(type) {
	case *corev1.Event:
		return displacementEvent{e.Reason, e.Source.Host, e.InvolvedObject}
	case *eventsv1.Event:
		return displacementEvent{e.Reason, e.DeprecatedSource.Host, e.Regarding}
	}
	return displacementEvent{}
}

// admitDisplacementEvent restricts the events from which commands derive displacements, as they do for the events of
// upstream components (controllers/displacementrecords/history). A kubelet reports only its own evictions.
func (r *Restriction) admitDisplacementEvent(ctx context.Context, node string, a admission.Attributes) error {
	e := displacementEventOf(a.GetObject())
	switch e.reason {
	case "Evicted", "Preempting":
	case "Preempted", "TaintManagerEviction", "Descheduled":
		return forbid(a, "node %q can not report displacements by other components (reason %s)", node, e.reason)
	default:
		return nil
	}
	if e.host != "" && e.host != node {
		return forbid(a, "node %q can only report displacements from itself, not from %q", node, e.host)
	}
	if e.pod.Kind != "Pod" {
		return nil
	}
	pod, err := r.findPod(ctx, e.pod.Namespace, e.pod.Name)
	switch {
	case apierrors.IsNotFound(err): // the event may arrive after the deletion
		return nil
	case err != nil:
		return forbid(a, "error looking up pod %s/%s to verify its node: %w", e.pod.Namespace, e.pod.Name, err)
	case (e.pod.UID == "" || e.pod.UID == pod.UID) && pod.Spec.NodeName != node:
		return forbid(a, "node %q can only report displacements of pods with spec.nodeName set to itself", node)
	}
	return nil
}
