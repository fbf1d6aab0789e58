package subresource

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"
)

// repairInterval is how often allocations without a service are searched. An allocation is released
// only after it was found without a service twice, because the creation of its service may be in progress.
const repairInterval = 5 * time.Minute

// RunRepair periodically releases allocations whose service does not exist, which a crash can leave
// behind, and allocates values that services hold without an allocation. It makes IPAddresses agree
// with the allocations. It returns when ctx is done.
func (s *ServiceAllocator) RunRepair(ctx context.Context) {
	orphans := map[allocation]string{}
	tick := time.NewTicker(repairInterval)
	defer tick.Stop()
	for {
		found, err := s.repair(ctx, orphans)
		if err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to repair service allocations; retrying", "interval", repairInterval)
		}
		orphans = found
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// repair releases the former orphans that are still orphans, makes IPAddresses agree with the
// allocations, and returns the current orphans.
func (s *ServiceAllocator) repair(ctx context.Context, former map[allocation]string) (map[allocation]string, error) {
	orphans, err := s.repairAllocations(ctx, former)
	if err != nil {
		return nil, err
	}
	objects, err := s.addresses.objects.list(ctx)
	if err != nil {
		return nil, err
	}
	owners, err := s.addresses.Allocated(ctx, clusterIPPool)
	if err != nil {
		return nil, err
	}
	return orphans, s.addresses.repairObjects(ctx, objects, owners)
}

func (s *ServiceAllocator) repairAllocations(ctx context.Context, former map[allocation]string) (map[allocation]string, error) {
	orphans := map[allocation]string{}
	for _, pool := range []string{clusterIPPool, nodePortPool} {
		owners, err := s.clusterIPs.allocator.Allocated(ctx, pool)
		if err != nil {
			return nil, err
		}
		for value, owner := range owners {
			orphans[allocation{pool, value}] = owner
		}
	}
	if err := s.reconcile(ctx, orphans); err != nil {
		return nil, err
	}
	for a, owner := range orphans {
		if former[a] == owner {
			t := &transaction{clusterIPs: s.clusterIPs, owner: owner}
			t.release(ctx, a)
			delete(orphans, a)
		}
	}
	return orphans, nil
}

// reconcile removes the values of existing services from allocated, and allocates missing ones.
func (s *ServiceAllocator) reconcile(ctx context.Context, allocated map[allocation]string) error {
	all := genericapirequest.WithNamespace(ctx, "")
	list, err := s.store.List(all, &metainternalversion.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing services: %w", err)
	}
	services := list.(*corev1.ServiceList)
	for i := range services.Items {
		service := &services.Items[i]
		owner := ownerOf(service, nil)
		for _, a := range allocationsOf(service) {
			if allocated[a] == owner {
				delete(allocated, a)
				continue
			}
			if _, err := s.clusterIPs.allocator.Allocate(ctx, a.pool, a.value, owner); err != nil {
				return err
			}
		}
	}
	return nil
}
