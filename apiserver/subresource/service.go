package subresource

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver/validation/network"
)

// releaseTimeout limits the release of allocations, which the client cannot cancel. RunRepair releases
// allocations that remain.
const releaseTimeout = 10 * time.Second

// ServiceAllocator allocates cluster IPs and node ports for services. Each cluster IP has an IPAddress.
type ServiceAllocator struct {
	clusterIPs clusterIPAllocator
	addresses  addressAllocator // the allocator of clusterIPs
	store      *registry.Store
	read       func(ctx context.Context, namespace, name string) (*corev1.Service, error)
}

// NewServiceAllocator configures the store of services to allocate cluster IPs from cidr. The store
// allocates values before it writes the service, and releases them if the write fails. addresses is
// the store of IPAddresses, ranges the store of ServiceCIDRs. The caller must create services with
// Create and update them with Update.
func NewServiceAllocator(store, addresses, ranges *registry.Store, cidr string, allocator Allocator) (*ServiceAllocator, error) {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil, fmt.Errorf("service cluster IP range %q: %w", cidr, err)
	}
	s := newServiceAllocator(prefix, addressAllocator{Allocator: allocator, objects: storedAddresses{addresses}})
	s.store = store
	s.read = s.readStored
	s.clusterIPs.further = storedRanges{ranges}.ready
	store.BeginCreate = s.beginCreate
	store.BeginUpdate = s.beginUpdate
	store.AfterDelete = s.afterDelete
	return s, nil
}

func newServiceAllocator(prefix netip.Prefix, addresses addressAllocator) *ServiceAllocator {
	return &ServiceAllocator{clusterIPs: clusterIPAllocator{network: prefix.Masked(), maxBits: maxBits, allocator: addresses}, addresses: addresses}
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
// request fails before the write.
func (s *ServiceAllocator) begin(ctx context.Context, service, old *corev1.Service, dryRun bool) (registry.FinishFunc, error) {
	attempts := attemptsOf(ctx)
	attempts.retry(ctx)
	t := newTransaction(s.clusterIPs, ownerOf(service, old))
	if t.dryRun = dryRun; dryRun {
		t.clusterIPs.allocator = dryRunAllocator{allocator: t.clusterIPs.allocator}
	}
	if err := t.prepare(ctx, service, old); err != nil {
		t.undo(ctx)
		return nil, err
	}
	return func(ctx context.Context, success bool) {
		if !success && !attempts.mayBeWritten() {
			t.undo(ctx)
			return
		}
		attempts.recordWrite(t)
	}, nil
}

func (s *ServiceAllocator) afterDelete(obj runtime.Object, options *metav1.DeleteOptions) {
	service := obj.(*corev1.Service)
	if dryrun.IsDryRun(options.DryRun) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	t := newTransaction(s.clusterIPs, ownerOf(service, nil))
	if err := t.findDropped(ctx, allocationsOf(service), nil); err != nil {
		klog.ErrorS(err, "Failed to release the allocations of a deleted service; the next repair releases them", "service", t.service)
	}
	t.releaseDropped(ctx)
}

// ownerOf identifies a service as NAMESPACE/NAME/UID. The UID distinguishes a later service of the same
// name. The owner of an allocation is the service and the transaction that made it, see newOwner.
func ownerOf(service, old *corev1.Service) string {
	if old != nil {
		service = old
	}
	return service.Namespace + "/" + service.Name + "/" + string(service.UID)
}

// newOwner returns an owner of allocations of a service. Each transaction has its own owner, so it cannot
// release the allocations of another transaction for the same service.
func newOwner(service string) string { return service + "/" + string(uuid.NewUUID()) }

// belongsTo reports whether an owner is a transaction of a service.
func belongsTo(owner, service string) bool {
	return owner == service || strings.HasPrefix(owner, service+"/")
}

// transaction is the allocation for one attempt to write a service.
type transaction struct {
	clusterIPs clusterIPAllocator
	service    string // see ownerOf
	owner      string
	dryRun     bool
	allocated  []allocation
	dropped    map[allocation]string // allocations that the write removes from the service, with their owner
}

func newTransaction(clusterIPs clusterIPAllocator, service string) *transaction {
	return &transaction{clusterIPs: clusterIPs, service: service, owner: newOwner(service)}
}

// allocation is an allocated value of a pool.
type allocation struct{ pool, value string }

// prepare allocates what service needs, and finds what old has and service does not need.
func (t *transaction) prepare(ctx context.Context, service, old *corev1.Service) error {
	errs, err := t.allocate(ctx, service, old)
	if err != nil {
		return err
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), service.Name, errs)
	}
	if old == nil {
		return nil
	}
	return t.findDropped(ctx, allocationsOf(old), allocationsOf(service))
}

// findDropped records the owners of the former allocations that are not current.
func (t *transaction) findDropped(ctx context.Context, former, current []allocation) error {
	for _, a := range former {
		if slices.Contains(current, a) {
			continue
		}
		owner, err := t.clusterIPs.allocator.Owner(ctx, a.pool, a.value)
		if err != nil {
			return err
		}
		if belongsTo(owner, t.service) {
			if t.dropped == nil {
				t.dropped = map[allocation]string{}
			}
			t.dropped[a] = owner
		}
	}
	return nil
}

// undo releases all new allocations.
func (t *transaction) undo(ctx context.Context) {
	for _, a := range t.allocated {
		t.release(ctx, a, t.owner)
	}
	t.allocated = nil
}

// releaseDropped releases the dropped allocations after the write.
func (t *transaction) releaseDropped(ctx context.Context) {
	for a, owner := range t.dropped {
		t.release(ctx, a, owner)
	}
}

func (t *transaction) release(ctx context.Context, a allocation, owner string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if _, err := t.clusterIPs.allocator.Release(ctx, a.pool, a.value, owner); err != nil {
		klog.ErrorS(err, "Failed to release an allocation of a service; the next repair releases it", "service", t.service)
	}
}

// isInProgress reports whether another transaction of the same service has allocated a value.
func (t *transaction) isInProgress(ctx context.Context, a allocation) bool {
	owner, err := t.clusterIPs.allocator.Owner(ctx, a.pool, a.value)
	return err == nil && belongsTo(owner, t.service)
}

// inProgressError returns a conflict: the client can repeat the request.
func (t *transaction) inProgressError(service *corev1.Service, a allocation) error {
	return apierrors.NewConflict(corev1.Resource("services"), service.Name,
		fmt.Errorf("another update of the Service is allocating or releasing %s; repeat the request", a.value))
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
	err := t.clusterIPs.allocate(ctx, spec.ClusterIP, t.owner)
	if a := (allocation{clusterIPPool, addr.String()}); errors.Is(err, errAllocated) && t.isInProgress(ctx, a) {
		return nil, t.inProgressError(service, a)
	}
	if errors.Is(err, errAllocated) || errors.Is(err, errOutOfRange) {
		message := fmt.Sprintf("failed to allocate IP %s: %v", spec.ClusterIP, err)
		return field.ErrorList{field.Invalid(field.NewPath("spec", "clusterIPs"), spec.ClusterIPs, message)}, nil
	}
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("failed to allocate IP %s: %w", spec.ClusterIP, err))
	}
	t.record(clusterIPPool, addr.String())
	return nil, nil
}

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
