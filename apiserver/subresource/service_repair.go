package subresource

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"
)

// repairInterval is the interval between searches for allocations without a service. An allocation is released only
// after two searches found it without a service, because the creation of its service may be in progress.
const repairInterval = 5 * time.Minute

// RunRepair periodically releases allocations whose service does not exist, which a crash can cause. It allocates
// values that services have without an allocation, and makes IPAddresses agree with the allocations. It returns when
// ctx is done.
func (s *ServiceAllocator) RunRepair(ctx context.Context) {
	orphans := map[allocation]string{}
	tick := time.NewTicker(repairInterval)
	defer tick.Stop()
	for {
		current, err := s.repair(ctx, orphans)
		if err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to repair service allocations; retrying", "interval", repairInterval)
		}
		orphans = current
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// repair releases the former orphans that are still orphans, makes IPAddresses agree with the
// allocations, and returns the current orphans. If it cannot read them, it returns the former ones.
func (s *ServiceAllocator) repair(ctx context.Context, former map[allocation]string) (map[allocation]string, error) {
	orphans, used, err := s.repairAllocations(ctx, former)
	if orphans == nil {
		return former, err
	}
	return orphans, errors.Join(err, s.repairAddresses(ctx, used))
}

// repairAddresses makes IPAddresses agree with the allocations. used maps each cluster IP of a Service
// to its owner.
func (s *ServiceAllocator) repairAddresses(ctx context.Context, used map[string]string) error {
	objects, err := s.addresses.objects.list(ctx)
	if err != nil {
		return err
	}
	owners, err := s.addresses.Allocated(ctx, clusterIPPool)
	if err != nil {
		return err
	}
	return s.addresses.repairObjects(ctx, objects, owners, used)
}

// repairAllocations releases the former orphans that are still orphans, and allocates the values that
// Services have without an allocation. It returns the other orphans and the owners of the cluster IPs of
// Services. The orphans are nil if it cannot read allocations or Services.
func (s *ServiceAllocator) repairAllocations(ctx context.Context, former map[allocation]string) (orphans map[allocation]string, used map[string]string, _ error) {
	orphans = map[allocation]string{}
	for _, pool := range []string{clusterIPPool, nodePortPool} {
		owners, err := s.clusterIPs.allocator.Allocated(ctx, pool)
		if err != nil {
			return nil, nil, err
		}
		for value, owner := range owners {
			orphans[allocation{pool, value}] = owner
		}
	}
	allNamespaces := genericapirequest.WithNamespace(ctx, "")
	list, err := s.store.List(allNamespaces, &metainternalversion.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("listing services: %w", err)
	}
	services, ok := list.(*corev1.ServiceList)
	if !ok {
		return nil, nil, fmt.Errorf("want a list of Services, got %T", list)
	}
	used, err = s.reconcile(ctx, services.Items, orphans)
	for a, owner := range orphans {
		if former[a] == owner {
			newTransaction(s.clusterIPs, owner).release(ctx, a, owner)
			delete(orphans, a)
		}
	}
	return orphans, used, err
}

// reconcile removes the values of services from allocated, and allocates missing ones. It returns the
// owners of the cluster IPs that were removed.
func (s *ServiceAllocator) reconcile(ctx context.Context, services []corev1.Service, allocated map[allocation]string) (map[string]string, error) {
	used := map[string]string{}
	var errs []error
	for i := range services {
		service := ownerOf(&services[i], nil)
		for _, a := range allocationsOf(&services[i]) {
			owner := allocated[a]
			if !belongsTo(owner, service) {
				errs = append(errs, s.addresses.restore(ctx, a.pool, a.value, service))
				continue
			}
			delete(allocated, a)
			if a.pool == clusterIPPool {
				used[a.value] = owner
			}
		}
	}
	return used, errors.Join(errs...)
}
