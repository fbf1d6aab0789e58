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

// Upstream's labels and annotations on Endpoints.
const (
	managedBy     = "endpoints.kubernetes.io/managed-by"
	legacyManager = "endpoint-controller"
	overCapacity  = "endpoints.kubernetes.io/over-capacity"
)

// syncLegacy brings the Endpoints of a Service up to date.
func (e *endpoints) syncLegacy(ctx context.Context, s *corev1.Service, pods []*corev1.Pod, trigger time.Time) error {
	subsets, cut := subsetsOf(s, pods)
	have, err := e.legacy.Endpoints(s.Namespace).Get(s.Name)
	isNew := apierrors.IsNotFound(err)
	if isNew {
		have = &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Labels: s.Labels}}
	} else if err != nil {
		return err
	}
	want := have.DeepCopy()
	want.Subsets, want.Labels = subsets, legacyLabels(s)
	if want.Annotations == nil {
		want.Annotations = map[string]string{}
	}
	delete(want.Annotations, overCapacity)
	if cut {
		want.Annotations[overCapacity] = "truncated"
	}
	if !isNew && equality.Semantic.DeepEqual(have.Subsets, want.Subsets) && maps.Equal(have.Labels, want.Labels) &&
		have.Annotations[overCapacity] == want.Annotations[overCapacity] {
		return nil
	}
	delete(want.Annotations, corev1.EndpointsLastChangeTriggerTime)
	if !trigger.IsZero() {
		want.Annotations[corev1.EndpointsLastChangeTriggerTime] = trigger.UTC().Format(time.RFC3339Nano)
	}
	if !isNew {
		_, err = e.client.CoreV1().Endpoints(s.Namespace).Update(ctx, want, metav1.UpdateOptions{})
		return err
	}
	_, err = e.client.CoreV1().Endpoints(s.Namespace).Create(ctx, want, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // their coming is looked at
	}
	return err
}

// legacyLabels are the Service's, whether it is headless, and who writes it.
func legacyLabels(s *corev1.Service) map[string]string {
	out := map[string]string{}
	maps.Copy(out, s.Labels)
	delete(out, corev1.IsHeadlessService)
	if s.Spec.ClusterIP == corev1.ClusterIPNone {
		out[corev1.IsHeadlessService] = ""
	}
	out[managedBy] = legacyManager
	return out
}

// legacyGone deletes the Endpoints of a Service that is gone, unless they were never ours.
func (e *endpoints) legacyGone(ctx context.Context, k service) error {
	have, err := e.legacy.Endpoints(k.namespace).Get(k.name)
	if err != nil || have.Labels[managedBy] != legacyManager {
		return benign(err)
	}
	return benign(e.client.CoreV1().Endpoints(k.namespace).Delete(ctx, k.name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &have.UID}}))
}
