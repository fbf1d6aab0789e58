package endpoints

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Upstream's labels and annotations of Endpoints.
const (
	managedByLabel         = "endpoints.kubernetes.io/managed-by"
	endpointsManager       = "endpoint-controller"
	overCapacityAnnotation = "endpoints.kubernetes.io/over-capacity"
)

// syncEndpoints creates or updates the Endpoints of a Service. trigger is the value of the annotation
// endpoints.kubernetes.io/last-change-trigger-time. If it is zero, the Endpoints do not get the annotation.
func (c *controller) syncEndpoints(ctx context.Context, s *corev1.Service, pods []*corev1.Pod, trigger time.Time) error {
	subsets, truncated := newSubsets(s, pods)
	existing, err := c.endpointsLister.Endpoints(s.Namespace).Get(s.Name)
	isNew := apierrors.IsNotFound(err)
	if isNew {
		existing = &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Labels: s.Labels}}
	} else if err != nil {
		return err
	}
	desired := existing.DeepCopy()
	desired.Subsets, desired.Labels = subsets, endpointsLabels(s)
	if desired.Annotations == nil {
		desired.Annotations = map[string]string{}
	}
	delete(desired.Annotations, overCapacityAnnotation)
	if truncated {
		desired.Annotations[overCapacityAnnotation] = "truncated"
	}
	if !isNew && equality.Semantic.DeepEqual(existing.Subsets, desired.Subsets) && maps.Equal(existing.Labels, desired.Labels) &&
		existing.Annotations[overCapacityAnnotation] == desired.Annotations[overCapacityAnnotation] {
		return nil
	}
	delete(desired.Annotations, corev1.EndpointsLastChangeTriggerTime)
	if !trigger.IsZero() {
		desired.Annotations[corev1.EndpointsLastChangeTriggerTime] = trigger.UTC().Format(time.RFC3339Nano)
	}
	if !isNew {
		_, err = c.client.CoreV1().Endpoints(s.Namespace).Update(ctx, desired, metav1.UpdateOptions{})
		return err
	}
	_, err = c.client.CoreV1().Endpoints(s.Namespace).Create(ctx, desired, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // the event of the existing object triggers another sync
	}
	return err
}

// endpointsLabels returns the labels of Endpoints: those of the Service, and whether it is headless and managed by
// this controller.
func endpointsLabels(s *corev1.Service) map[string]string {
	out := map[string]string{}
	maps.Copy(out, s.Labels)
	delete(out, corev1.IsHeadlessService)
	if s.Spec.ClusterIP == corev1.ClusterIPNone {
		out[corev1.IsHeadlessService] = ""
	}
	out[managedByLabel] = endpointsManager
	return out
}

// deleteEndpoints deletes the Endpoints of a deleted Service if this controller manages them.
func (c *controller) deleteEndpoints(ctx context.Context, k serviceKey) error {
	existing, err := c.endpointsLister.Endpoints(k.namespace).Get(k.name)
	if err != nil || existing.Labels[managedByLabel] != endpointsManager {
		return ignoreExpected(err)
	}
	return ignoreExpected(c.client.CoreV1().Endpoints(k.namespace).Delete(ctx, k.name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &existing.UID}}))
}
