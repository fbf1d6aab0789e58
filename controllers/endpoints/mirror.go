package endpoints

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/endpointslice/util"

	"github.com/berthproject/berth/controllers/runner"
)

// mirrorManager is the upstream value of the managed-by label of mirrored slices.
const mirrorManager = "endpointslicemirroring-controller.k8s.io"

// mirrorController mirrors Endpoints of Services without selector into EndpointSlices.
type mirrorController struct {
	client          kubernetes.Interface
	services        corelisters.ServiceLister
	endpointsLister corelisters.EndpointsLister
	slices          discoverylisters.EndpointSliceLister
	tracker         *util.EndpointSliceTracker
	queue           runner.Queue[serviceKey]
}

// sync reconciles the mirrored slices of one Service.
func (m *mirrorController) sync(ctx context.Context, k serviceKey) (time.Duration, error) {
	s, source, err := m.endpointsToMirror(k)
	if err != nil {
		return 0, err
	}
	existing, err := m.slicesOf(k)
	if err != nil {
		return 0, err
	}
	if source == nil {
		if s == nil && len(existing) == 0 {
			m.tracker.DeleteService(k.namespace, k.name)
		}
		return 0, m.remove(ctx, existing)
	}
	if m.tracker.StaleSlices(s, existing) {
		return staleCacheDelay, nil
	}
	changed, surplus := matchSlices(desiredSlices(source), existing)
	errs := []error{m.remove(ctx, surplus)}
	for _, slice := range changed {
		errs = append(errs, ignoreExpected(m.write(ctx, slice)))
	}
	if err := errors.Join(errs...); err != nil {
		return 0, fmt.Errorf("endpoints %s: %w", k, err)
	}
	return 0, nil
}

// endpointsToMirror returns a Service and its Endpoints. The Endpoints are nil if they must not be mirrored.
func (m *mirrorController) endpointsToMirror(k serviceKey) (*corev1.Service, *corev1.Endpoints, error) {
	s, err := m.services.Services(k.namespace).Get(k.name)
	if err != nil {
		return nil, nil, ignoreExpected(err)
	}
	e, err := m.endpointsLister.Endpoints(k.namespace).Get(k.name)
	if err != nil {
		return nil, nil, ignoreExpected(err)
	}
	if _, isElectionLock := e.Annotations[resourcelock.LeaderElectionRecordAnnotationKey]; isElectionLock || s.Spec.Selector != nil || e.Labels[discoveryv1.LabelSkipMirror] == "true" || e.DeletionTimestamp != nil {
		return s, nil, nil
	}
	return s, e, nil
}

func (m *mirrorController) slicesOf(k serviceKey) (out []*discoveryv1.EndpointSlice, err error) {
	all, err := m.slices.EndpointSlices(k.namespace).List(labels.SelectorFromSet(labels.Set{
		discoveryv1.LabelServiceName: k.name, discoveryv1.LabelManagedBy: mirrorManager}))
	for _, s := range all {
		if s.DeletionTimestamp == nil {
			out = append(out, s)
		}
	}
	return out, err
}

// matchSlices returns the slices to write and the surplus existing slices. A desired slice reuses an
// existing one of the same address family and ports, preferably one with equal endpoints.
func matchSlices(desired, existing []*discoveryv1.EndpointSlice) (changed, surplus []*discoveryv1.EndpointSlice) {
	surplus = slices.Clone(existing)
	for _, d := range desired {
		i := slices.IndexFunc(surplus, func(s *discoveryv1.EndpointSlice) bool {
			return sameFamilyAndPorts(s, d) && sameEndpoints(s, d)
		})
		if i < 0 {
			i = slices.IndexFunc(surplus, func(s *discoveryv1.EndpointSlice) bool { return sameFamilyAndPorts(s, d) })
		}
		if i < 0 {
			changed = append(changed, d)
			continue
		}
		if next, unchanged := updatedSlice(surplus[i], d); !unchanged {
			changed = append(changed, next)
		}
		surplus = slices.Delete(surplus, i, i+1)
	}
	return changed, surplus
}

// sameFamilyAndPorts reports whether two slices have the same address family and the same set of ports.
func sameFamilyAndPorts(a, b *discoveryv1.EndpointSlice) bool {
	return a.AddressType == b.AddressType && util.NewPortMapKey(slices.Clone(a.Ports)) == util.NewPortMapKey(slices.Clone(b.Ports))
}

// sameEndpoints reports whether two slices have the same set of endpoints. Upstream does not define an order.
func sameEndpoints(existing, desired *discoveryv1.EndpointSlice) bool {
	return equality.Semantic.DeepEqual(sortEndpoints(slices.Clone(existing.Endpoints)), desired.Endpoints)
}

// updatedSlice returns an existing slice with the desired content, and whether it was unchanged.
func updatedSlice(existing, desired *discoveryv1.EndpointSlice) (next *discoveryv1.EndpointSlice, unchanged bool) {
	next = existing.DeepCopy()
	next.Labels, next.Annotations, next.OwnerReferences = desired.Labels, desired.Annotations, desired.OwnerReferences
	if !sameEndpoints(existing, desired) {
		next.Endpoints = desired.Endpoints
	}
	return next, equality.Semantic.DeepEqual(existing, next)
}

// write creates or updates a slice. A slice without a name is created.
func (m *mirrorController) write(ctx context.Context, s *discoveryv1.EndpointSlice) (err error) {
	api := m.client.DiscoveryV1().EndpointSlices(s.Namespace)
	if s.Name == "" {
		s, err = api.Create(ctx, s, metav1.CreateOptions{})
	} else {
		s, err = api.Update(ctx, s, metav1.UpdateOptions{})
	}
	if err == nil {
		m.tracker.Update(s)
	}
	return err
}

func (m *mirrorController) remove(ctx context.Context, list []*discoveryv1.EndpointSlice) error {
	var errs []error
	for _, s := range list {
		err := m.client.DiscoveryV1().EndpointSlices(s.Namespace).Delete(ctx, s.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &s.UID}})
		if err == nil {
			m.tracker.ExpectDeletion(s)
		} else if !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
