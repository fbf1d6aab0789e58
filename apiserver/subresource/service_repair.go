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

// repairInterval is how often claims without a service are looked for. One is
// given back when it was seen without one twice, so that a service that is just being
// written keeps its own.
const repairInterval = 5 * time.Minute

// RunRepair gives back values whose service was never written or is gone, which a
// crash between the two writes leaves behind, and claims again those of
// services that have lost their claim. It runs until ctx ends.
func (s *ServiceAllocator) RunRepair(ctx context.Context) {
	orphans := map[allocation]string{}
	tick := time.NewTicker(repairInterval)
	defer tick.Stop()
	for {
		found, err := s.repair(ctx, orphans)
		if err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Addresses of services could not be swept; trying again later", "every", repairInterval)
		}
		orphans = found
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// repair releases those of the former orphans that still are, and returns the present ones.
func (s *ServiceAllocator) repair(ctx context.Context, former map[allocation]string) (map[allocation]string, error) {
	held := map[allocation]string{}
	for _, pool := range []string{clusterIPPool, nodePortPool} {
		taken, err := s.clusterIPs.allocator.Allocated(ctx, pool)
		if err != nil {
			return nil, err
		}
		for value, owner := range taken {
			held[allocation{pool, value}] = owner
		}
	}
	if err := s.reconcile(ctx, held); err != nil {
		return nil, err
	}
	for c, owner := range held {
		if former[c] == owner {
			t := &transaction{clusterIPs: s.clusterIPs, owner: owner}
			t.release(ctx, c)
			delete(held, c)
		}
	}
	return held, nil
}

// reconcile takes out of held what services have, and claims what they have lost.
func (s *ServiceAllocator) reconcile(ctx context.Context, held map[allocation]string) error {
	all := genericapirequest.WithNamespace(ctx, "")
	list, err := s.store.List(all, &metainternalversion.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing services: %w", err)
	}
	services := list.(*corev1.ServiceList)
	for i := range services.Items {
		service := &services.Items[i]
		mine := ownerOf(service, nil)
		for _, c := range allocationsOf(service) {
			if held[c] == mine {
				delete(held, c)
				continue
			}
			if _, err := s.clusterIPs.allocator.Allocate(ctx, c.pool, c.value, mine); err != nil {
				return err
			}
		}
	}
	return nil
}
