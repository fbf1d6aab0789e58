package endpoints

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/endpointslice/metrics"
)

// sync reconciles the slices and the Endpoints of one Service.
func (c *controller) sync(ctx context.Context, k serviceKey) (time.Duration, error) {
	s, err := c.services.Services(k.namespace).Get(k.name)
	switch {
	case apierrors.IsNotFound(err):
		return 0, c.deleteService(ctx, k)
	case err != nil:
		return 0, err
	case s.Spec.Type == corev1.ServiceTypeExternalName || s.Spec.Selector == nil || s.DeletionTimestamp != nil:
		// Users manage the Endpoints, or the garbage collector deletes them.
		return 0, nil
	}
	existing, err := c.slicesOf(k)
	if err != nil {
		return 0, err
	}
	if c.tracker.StaleSlices(s, existing) {
		metrics.EndpointSliceSyncs.WithLabelValues("stale").Inc()
		return staleCacheDelay, nil
	}
	pods, err := c.podsOf(s)
	if err != nil {
		return 0, err
	}
	trigger := c.triggers.ComputeEndpointLastChangeTriggerTime(k.namespace, s, pods)
	err = errors.Join(
		ignoreExpected(c.reconciler.Reconcile(c.log, s, pods, existing, trigger)),
		ignoreExpected(c.syncEndpoints(ctx, s, pods, trigger)))
	if err != nil {
		metrics.EndpointSliceSyncs.WithLabelValues("error").Inc()
		return 0, fmt.Errorf("service %s/%s: %w", k.namespace, k.name, err)
	}
	metrics.EndpointSliceSyncs.WithLabelValues("success").Inc()
	return 0, nil
}

// podsOf returns the selected pods of a Service. It omits pods on nodes that are not in the cache, unless the Service
// publishes not-ready addresses.
func (c *controller) podsOf(s *corev1.Service) ([]*corev1.Pod, error) {
	selected, err := c.pods.Pods(s.Namespace).List(labels.Set(s.Spec.Selector).AsSelectorPreValidated())
	if err != nil {
		return nil, err
	}
	k, unknown := serviceKey{s.Namespace, s.Name}, map[string]bool{}
	out := make([]*corev1.Pod, 0, len(selected))
	for _, p := range selected {
		_, err := c.nodes.Get(p.Spec.NodeName)
		if err != nil && p.Spec.NodeName != "" && !s.Spec.PublishNotReadyAddresses {
			unknown[p.Spec.NodeName] = true
			continue
		}
		out = append(out, p)
	}
	c.state.record(k, len(selected), unknown)
	for _, node := range slices.Sorted(maps.Keys(unknown)) { // the node may have been added meanwhile
		if _, err := c.nodes.Get(node); err == nil {
			c.onNodeAdded(node)
		}
	}
	return out, nil
}

// slicesOf returns the managed slices of a Service that are not being deleted.
func (c *controller) slicesOf(k serviceKey) ([]*discoveryv1.EndpointSlice, error) {
	list, err := c.slices.EndpointSlices(k.namespace).List(labels.SelectorFromSet(labels.Set{
		discoveryv1.LabelServiceName: k.name, discoveryv1.LabelManagedBy: sliceManager}))
	if err != nil {
		return nil, err
	}
	out := list[:0:0]
	for _, s := range list {
		if s.DeletionTimestamp == nil {
			out = append(out, s)
		}
	}
	return out, nil
}

// deleteService removes the state of a deleted Service and its owned slices and Endpoints.
func (c *controller) deleteService(ctx context.Context, k serviceKey) error {
	c.triggers.DeleteService(k.namespace, k.name)
	c.reconciler.DeleteService(k.namespace, k.name)
	c.tracker.DeleteService(k.namespace, k.name)
	c.state.forget(k)
	existing, err := c.slicesOf(k)
	if err != nil {
		return err
	}
	errs := []error{c.deleteEndpoints(ctx, k)}
	for _, s := range existing {
		if metav1.GetControllerOf(s) == nil {
			continue
		}
		errs = append(errs, ignoreExpected(c.client.DiscoveryV1().EndpointSlices(k.namespace).Delete(ctx, s.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &s.UID}})))
	}
	return errors.Join(errs...)
}

// ignoreExpected drops errors about an object that does not exist or a namespace that is being deleted.
func ignoreExpected(err error) error {
	if apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}
