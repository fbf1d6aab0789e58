package workload

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/controllers/podtemplate"
)

// Reasons of events about created and deleted pods.
const (
	SuccessfulCreate = "SuccessfulCreate"
	FailedCreate     = "FailedCreate"
	SuccessfulDelete = "SuccessfulDelete"
	FailedDelete     = "FailedDelete"
)

// Create creates a pod for an owner. If the pod has no name it gets a generated one. Create records an event,
// except for errors of IsNamespaceTerminating.
func (p *Pods) Create(ctx context.Context, o *Owner, pod *corev1.Pod) error {
	if pod.Name == "" {
		pod.GenerateName = podtemplate.NamePrefix(o.Object.GetName())
		pod.Name = pod.GenerateName + p.env.NameSuffix()
	}
	name, owner := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, o.Object.GetUID()
	p.pending.expectCreate(owner, pod) // first, since the cache may be updated before the response arrives
	created, err := p.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	switch {
	case err == nil:
		p.pending.confirmCreate(created)
		p.events.Eventf(o.Object, corev1.EventTypeNormal, SuccessfulCreate, "Created pod: %v", created.Name)
		return nil
	case !isOutcomeUnknown(err):
		p.pending.cancelCreate(name)
	}
	if !IsNamespaceTerminating(err) {
		p.events.Eventf(o.Object, corev1.EventTypeWarning, FailedCreate, "Error creating: %v", err)
	}
	return fmt.Errorf("creating pod %s: %w", name, err)
}

// isOutcomeUnknown reports whether the request may have succeeded despite the error.
func isOutcomeUnknown(err error) bool {
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsInternalError(err) || apierrors.ReasonForError(err) == metav1.StatusReasonUnknown
}

// IsNamespaceTerminating reports whether a create was rejected because its namespace is being deleted. A
// retry cannot succeed.
func IsNamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// Delete deletes an owner's pod with its UID as a precondition. A deleted pod is no error.
func (p *Pods) Delete(ctx context.Context, o *Owner, pod *corev1.Pod) error {
	if pod.UID == "" {
		return fmt.Errorf("deleting pod %s/%s: its creation is not confirmed yet", pod.Namespace, pod.Name)
	}
	p.pending.expectDelete(o.Object.GetUID(), pod)
	err := p.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	switch {
	case err == nil:
		p.events.Eventf(o.Object, corev1.EventTypeNormal, SuccessfulDelete, "Deleted pod: %v", pod.Name)
		return nil
	case apierrors.IsNotFound(err):
		return nil
	}
	p.pending.cancelDelete(pod.UID)
	p.events.Eventf(o.Object, corev1.EventTypeWarning, FailedDelete, "Error deleting: %v", err)
	return fmt.Errorf("deleting pod %s/%s: %w", pod.Namespace, pod.Name, err)
}
