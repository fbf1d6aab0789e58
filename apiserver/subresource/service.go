package subresource

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver/validation/network"
)

// releaseTimeout bounds the release of allocations after a service is deleted. RunRepair releases
// allocations that remain.
const releaseTimeout = 10 * time.Second

// ServiceAllocator allocates cluster IPs and node ports for services. Each cluster IP has an IPAddress.
type ServiceAllocator struct {
	clusterIPs clusterIPAllocator
	addresses  addressAllocator // the allocator of clusterIPs
	store      *registry.Store

	mu             sync.Mutex
	pendingRelease map[string][]allocation // by owner: allocations of the old object of an update in progress
}

// NewServiceAllocator configures the store of services to allocate cluster IPs from cidr. Values
// are allocated before the service is written and released if the write fails. addresses is the
// store of IPAddresses.
func NewServiceAllocator(store, addresses *registry.Store, cidr string, allocator Allocator) (*ServiceAllocator, error) {
	network, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil, fmt.Errorf("service cluster IP range %q: %w", cidr, err)
	}
	s := newServiceAllocator(network, addressAllocator{Allocator: allocator, objects: storedAddresses{addresses}})
	s.store = store
	store.BeginCreate = s.beginCreate
	store.BeginUpdate = s.beginUpdate
	store.AfterUpdate = s.afterUpdate
	store.AfterDelete = s.afterDelete
	return s, nil
}

func newServiceAllocator(network netip.Prefix, addresses addressAllocator) *ServiceAllocator {
	return &ServiceAllocator{clusterIPs: clusterIPAllocator{network: network.Masked(), allocator: addresses}, addresses: addresses}
}

func (s *ServiceAllocator) beginCreate(ctx context.Context, obj runtime.Object, options *metav1.CreateOptions) (registry.FinishFunc, error) {
	service := obj.(*corev1.Service)
	network.PrepareServiceForCreate(service)
	return s.begin(ctx, service, nil, dryrun.IsDryRun(options.DryRun))
}

func (s *ServiceAllocator) beginUpdate(ctx context.Context, obj, old runtime.Object, options *metav1.UpdateOptions) (registry.FinishFunc, error) {
	service, oldService := obj.(*corev1.Service), old.(*corev1.Service)
	network.PrepareServiceForUpdate(service, oldService)
	return s.begin(ctx, service, oldService, dryrun.IsDryRun(options.DryRun))
}

// begin allocates what the service needs. The returned function releases the new allocations if the
// request fails. It runs before the write, so it only records what the update may release.
func (s *ServiceAllocator) begin(ctx context.Context, service, old *corev1.Service, dryRun bool) (registry.FinishFunc, error) {
	t := &transaction{clusterIPs: s.clusterIPs, owner: ownerOf(service, old)}
	if dryRun {
		t.clusterIPs.allocator = dryRunAllocator{allocator: t.clusterIPs.allocator}
	}
	errs, err := t.allocate(ctx, service, old)
	if err == nil && len(errs) > 0 {
		err = apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), service.Name, errs)
	}
	if err != nil {
		t.undo(ctx)
		return nil, err
	}
	return func(ctx context.Context, success bool) {
		if !success {
			t.undo(ctx)
			return
		}
		if old != nil && !dryRun {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.pendingRelease == nil {
				s.pendingRelease = map[string][]allocation{}
			}
			s.pendingRelease[t.owner] = allocationsOf(old)
		}
	}, nil
}

// afterUpdate releases the allocations that the service no longer has.
func (s *ServiceAllocator) afterUpdate(obj runtime.Object, options *metav1.UpdateOptions) {
	service := obj.(*corev1.Service)
	if dryrun.IsDryRun(options.DryRun) {
		return
	}
	t := &transaction{clusterIPs: s.clusterIPs, owner: ownerOf(service, nil)}
	s.mu.Lock()
	released := s.pendingRelease[t.owner]
	delete(s.pendingRelease, t.owner)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	t.releaseUnused(ctx, released, service)
}

func (s *ServiceAllocator) afterDelete(obj runtime.Object, options *metav1.DeleteOptions) {
	service := obj.(*corev1.Service)
	if dryrun.IsDryRun(options.DryRun) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	t := &transaction{clusterIPs: s.clusterIPs, owner: ownerOf(service, nil)}
	s.mu.Lock()
	delete(s.pendingRelease, t.owner)
	s.mu.Unlock()
	t.releaseUnused(ctx, allocationsOf(service), &corev1.Service{})
}

// ownerOf returns the owner of a service's allocations. It contains the UID, to distinguish a later
// service of the same name.
func ownerOf(service, old *corev1.Service) string {
	if old != nil {
		service = old
	}
	return service.Namespace + "/" + service.Name + "/" + string(service.UID)
}

// transaction is the allocation for one write of a service.
type transaction struct {
	clusterIPs clusterIPAllocator
	owner      string
	allocated  []allocation
}

// allocation is an allocated value of a pool.
type allocation struct{ pool, value string }

// undo releases all new allocations.
func (t *transaction) undo(ctx context.Context) {
	for _, a := range t.allocated {
		t.release(ctx, a)
	}
	t.allocated = nil
}

func (t *transaction) release(ctx context.Context, a allocation) {
	if _, err := t.clusterIPs.allocator.Release(context.WithoutCancel(ctx), a.pool, a.value, t.owner); err != nil {
		klog.ErrorS(err, "Failed to release an allocation of a service; the next repair releases it", "service", t.owner)
	}
}

func (t *transaction) record(pool, value string) {
	t.allocated = append(t.allocated, allocation{pool, value})
}

// allocate sets IP families, cluster IP and node ports. It returns field errors for invalid
// requests and an error for failures of the store.
func (t *transaction) allocate(ctx context.Context, service, old *corev1.Service) (field.ErrorList, error) {
	if errs := t.setIPFamilies(service); len(errs) > 0 {
		return errs, nil
	}
	if errs, err := t.allocateIP(ctx, service, old); err != nil || len(errs) > 0 {
		return errs, err
	}
	return t.allocatePorts(ctx, service, old)
}

func (t *transaction) allocateIP(ctx context.Context, service, old *corev1.Service) (field.ErrorList, error) {
	spec := &service.Spec
	switch {
	case !network.NeedsClusterIP(service) || spec.ClusterIP == corev1.ClusterIPNone:
		return nil, nil
	case spec.ClusterIP == "" && len(spec.ClusterIPs) == 0:
		address, err := t.clusterIPs.allocateNext(ctx, t.owner)
		if err != nil {
			return nil, apierrors.NewInternalError(fmt.Errorf("failed to allocate a serviceIP: %w", err))
		}
		t.record(clusterIPPool, address)
		spec.ClusterIP, spec.ClusterIPs = address, []string{address}
		return nil, nil
	case old != nil && old.Spec.ClusterIP == spec.ClusterIP:
		return nil, nil
	case old != nil && old.Spec.ClusterIP != "" && network.NeedsClusterIP(old):
		return nil, nil // the cluster IP is immutable: validation rejects the change
	}
	addr, ok := parseIP(spec.ClusterIP)
	if !ok {
		return nil, nil // validation rejects the address
	}
	if err := t.clusterIPs.allocate(ctx, spec.ClusterIP, t.owner); err != nil {
		message := fmt.Sprintf("failed to allocate IP %s: %v", spec.ClusterIP, err)
		return field.ErrorList{field.Invalid(field.NewPath("spec", "clusterIPs"), spec.ClusterIPs, message)}, nil
	}
	t.record(clusterIPPool, addr.String())
	return nil, nil
}

// releaseUnused releases the allocations that service does not hold.
func (t *transaction) releaseUnused(ctx context.Context, allocations []allocation, service *corev1.Service) {
	current := allocationsOf(service)
	for _, a := range allocations {
		if !slices.Contains(current, a) {
			t.release(ctx, a)
		}
	}
}

// allocationsOf returns the allocations of a service.
func allocationsOf(service *corev1.Service) []allocation {
	var out []allocation
	for _, address := range service.Spec.ClusterIPs {
		if addr, ok := parseIP(address); ok {
			out = append(out, allocation{clusterIPPool, addr.String()})
		}
	}
	for _, port := range service.Spec.Ports {
		if port.NodePort != 0 {
			out = append(out, allocation{nodePortPool, strconv.Itoa(int(port.NodePort))})
		}
	}
	if port := service.Spec.HealthCheckNodePort; port != 0 {
		out = append(out, allocation{nodePortPool, strconv.Itoa(int(port))})
	}
	return out
}
