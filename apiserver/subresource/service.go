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

	"github.com/berthproject/berth/apiserver/rules"
)

// releaseWithin bounds the return of values after a service is gone; what is
// not returned then, Sweep finds.
const releaseWithin = 10 * time.Second

// Services gives services their cluster addresses and node ports.
type Services struct {
	addresses addresses
	store     *registry.Store

	mu   sync.Mutex
	left map[string][]claim // by owner: what an update that is being written may leave
}

// NewServices makes the store of services allocate from a range of addresses.
// Every value is claimed before the service is written, and given back if
// the write fails.
func NewServices(store *registry.Store, cidr string, claims Claims) (*Services, error) {
	network, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil, fmt.Errorf("service cluster IP range %q: %w", cidr, err)
	}
	s := &Services{addresses: addresses{network: network.Masked(), claims: claims}, store: store}
	store.BeginCreate = s.beginCreate
	store.BeginUpdate = s.beginUpdate
	store.AfterUpdate = s.afterUpdate
	store.AfterDelete = s.afterDelete
	return s, nil
}

func (s *Services) beginCreate(ctx context.Context, obj runtime.Object, options *metav1.CreateOptions) (registry.FinishFunc, error) {
	service := obj.(*corev1.Service)
	rules.PrepareServiceForCreate(service)
	return s.begin(ctx, service, nil, dryrun.IsDryRun(options.DryRun))
}

func (s *Services) beginUpdate(ctx context.Context, obj, old runtime.Object, options *metav1.UpdateOptions) (registry.FinishFunc, error) {
	service, before := obj.(*corev1.Service), old.(*corev1.Service)
	rules.PrepareServiceForUpdate(service, before)
	return s.begin(ctx, service, before, dryrun.IsDryRun(options.DryRun))
}

// begin claims what the service needs and has not. The returned function gives
// back what was claimed if the request fails; it comes before the write, so that what is needed no more is noted only.
func (s *Services) begin(ctx context.Context, service, old *corev1.Service, dryRun bool) (registry.FinishFunc, error) {
	t := &transaction{pools: s.addresses, owner: owner(service, old)}
	if dryRun {
		t.pools.claims = unsaved{from: t.pools.claims}
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
			if s.left == nil {
				s.left = map[string][]claim{}
			}
			s.left[t.owner] = holdings(old)
		}
	}, nil
}

// afterUpdate gives back what a service had before it was written, and has no more.
func (s *Services) afterUpdate(obj runtime.Object, options *metav1.UpdateOptions) {
	service := obj.(*corev1.Service)
	if dryrun.IsDryRun(options.DryRun) {
		return
	}
	t := &transaction{pools: s.addresses, owner: owner(service, nil)}
	s.mu.Lock()
	left := s.left[t.owner]
	delete(s.left, t.owner)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
	defer cancel()
	t.drop(ctx, left, service)
}

func (s *Services) afterDelete(obj runtime.Object, options *metav1.DeleteOptions) {
	service := obj.(*corev1.Service)
	if dryrun.IsDryRun(options.DryRun) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
	defer cancel()
	t := &transaction{pools: s.addresses, owner: owner(service, nil)}
	s.mu.Lock()
	delete(s.left, t.owner)
	s.mu.Unlock()
	t.drop(ctx, holdings(service), &corev1.Service{})
}

// owner names a service for its claims; the uid tells it from a later one of the same name.
func owner(service, old *corev1.Service) string {
	if old != nil {
		service = old
	}
	return service.Namespace + "/" + service.Name + "/" + string(service.UID)
}

// transaction is the allocation for one write of one service.
type transaction struct {
	pools   addresses
	owner   string
	claimed []claim
}

type claim struct{ pool, value string }

func (t *transaction) undo(ctx context.Context) {
	for _, c := range t.claimed {
		t.release(ctx, c)
	}
	t.claimed = nil
}

func (t *transaction) release(ctx context.Context, c claim) {
	if err := t.pools.claims.Release(context.WithoutCancel(ctx), c.pool, c.value, t.owner); err != nil {
		klog.ErrorS(err, "A value of a service was not returned; it will be at the next sweep", "service", t.owner)
	}
}

func (t *transaction) note(pool, value string) {
	t.claimed = append(t.claimed, claim{pool, value})
}

// allocate fills in families, addresses and ports. Faults of the request come
// as field errors, those of the store as an error.
func (t *transaction) allocate(ctx context.Context, service, old *corev1.Service) (field.ErrorList, error) {
	if errs := t.families(service); len(errs) > 0 {
		return errs, nil
	}
	if errs, err := t.address(ctx, service, old); err != nil || len(errs) > 0 {
		return errs, err
	}
	return t.ports(ctx, service, old)
}

func (t *transaction) address(ctx context.Context, service, old *corev1.Service) (field.ErrorList, error) {
	spec := &service.Spec
	switch {
	case !rules.NeedsClusterIP(service) || spec.ClusterIP == corev1.ClusterIPNone:
		return nil, nil
	case spec.ClusterIP == "" && len(spec.ClusterIPs) == 0:
		address, err := t.pools.next(ctx, t.owner)
		if err != nil {
			return nil, apierrors.NewInternalError(fmt.Errorf("failed to allocate a serviceIP: %w", err))
		}
		t.note(addressPool, address)
		spec.ClusterIP, spec.ClusterIPs = address, []string{address}
		return nil, nil
	case old != nil && old.Spec.ClusterIP == spec.ClusterIP:
		return nil, nil
	case old != nil && old.Spec.ClusterIP != "" && rules.NeedsClusterIP(old):
		return nil, nil // it may not change: validation says so
	}
	chosen, ok := canonical(spec.ClusterIP)
	if !ok {
		return nil, nil // validation says so
	}
	if err := t.pools.take(ctx, spec.ClusterIP, t.owner); err != nil {
		text := fmt.Sprintf("failed to allocate IP %s: %v", spec.ClusterIP, err)
		return field.ErrorList{field.Invalid(field.NewPath("spec", "clusterIPs"), spec.ClusterIPs, text)}, nil
	}
	t.note(addressPool, chosen.String())
	return nil, nil
}

// drop gives back those claims that service does not hold.
func (t *transaction) drop(ctx context.Context, claims []claim, service *corev1.Service) {
	kept := holdings(service)
	for _, c := range claims {
		if !slices.Contains(kept, c) {
			t.release(ctx, c)
		}
	}
}

// holdings are the values that a service has.
func holdings(service *corev1.Service) []claim {
	var held []claim
	for _, address := range service.Spec.ClusterIPs {
		if addr, ok := canonical(address); ok {
			held = append(held, claim{addressPool, addr.String()})
		}
	}
	for _, port := range service.Spec.Ports {
		if port.NodePort != 0 {
			held = append(held, claim{nodePortPool, strconv.Itoa(int(port.NodePort))})
		}
	}
	if port := service.Spec.HealthCheckNodePort; port != 0 {
		held = append(held, claim{nodePortPool, strconv.Itoa(int(port))})
	}
	return held
}
