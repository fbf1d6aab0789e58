package nodeauth

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/berthproject/berth/internal/journal"
)

// admitRecord restricts the displacement records that a node writes in events: they must be about
// the node and a pod bound to it. Avoid Holds follow from records, so a node could otherwise move
// the pods of other nodes to itself. admitDisplacementEvent restricts events without a record.
func (r *Restriction) admitRecord(ctx context.Context, node string, a admission.Attributes) error {
	if a.GetOperation() != admission.Create && hasRecord(a.GetOldObject()) {
		oldRecord, err := recordOf(a, a.GetOldObject())
		if err != nil {
			return err
		}
		if oldRecord.Node != node {
			return forbid(a, "node %q can only change displacement records about itself, this one is about %q", node, oldRecord.Node)
		}
	}
	if a.GetOperation() == admission.Delete {
		return nil
	}
	if !hasRecord(a.GetObject()) {
		return r.admitDisplacementEvent(ctx, node, a)
	}
	record, err := recordOf(a, a.GetObject())
	if err != nil {
		return err
	}
	if record.Node != node {
		return forbid(a, "node %q can only write displacement records about itself, not about %q", node, record.Node)
	}
	return r.admitRecordPod(ctx, node, record, a)
}

// admitRecordPod requires the pod of a record to be bound to the node, with the recorded owner.
func (r *Restriction) admitRecordPod(ctx context.Context, node string, record *journal.Displacement, a admission.Attributes) error {
	if record.Pod.Namespace != a.GetNamespace() {
		return forbid(a, "node %q can only write displacement records of pods in the namespace of the event", node)
	}
	pod, err := r.findPod(ctx, record.Pod.Namespace, record.Pod.Name)
	if apierrors.IsNotFound(err) || err == nil && string(pod.UID) != record.Pod.UID {
		return forbid(a, "node %q can only write displacement records of existing pods, there is no pod %s with UID %q", node, record.Pod.Key(), record.Pod.UID)
	}
	if err != nil {
		return forbid(a, "error looking up pod %s to verify its node: %w", record.Pod.Key(), err)
	}
	if pod.Spec.NodeName != node {
		return forbid(a, "node %q can only write displacement records of pods with spec.nodeName set to itself", node)
	}
	controller := metav1.GetControllerOf(pod)
	if record.Owner != nil && (controller == nil || string(controller.UID) != record.Owner.UID) {
		return forbid(a, "node %q can only write displacement records with the owner of the pod", node)
	}
	return nil
}

// hasRecord reports whether controllers may read a record from the object.
func hasRecord(obj runtime.Object) bool {
	m, ok := obj.(metav1.Object)
	if !ok {
		return false
	}
	_, annotated := m.GetAnnotations()[journal.Annotation]
	_, labeled := m.GetLabels()[journal.Label]
	return annotated || labeled
}

func recordOf(a admission.Attributes, obj runtime.Object) (*journal.Displacement, error) {
	m, ok := obj.(metav1.Object)
	if !ok {
		return nil, forbid(a, "unexpected type %T", obj)
	}
	record, err := journal.ParseDisplacement(m.GetAnnotations()[journal.Annotation])
	if err != nil {
		return nil, forbid(a, "annotation %s: %w", journal.Annotation, err)
	}
	return record, nil
}
