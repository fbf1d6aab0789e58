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

// sweepEvery is how often claims without a service are looked for. One is
// given back when it was seen without one twice, so that a service that is just being
// written keeps its own.
const sweepEvery = 5 * time.Minute

// Sweep gives back values whose service was never written or is gone, which a
// crash between the two writes leaves behind, and claims again those of
// services that have lost their claim. It runs until ctx ends.
func (s *Services) Sweep(ctx context.Context) {
	orphans := map[claim]string{}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		found, err := s.sweep(ctx, orphans)
		if err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Addresses of services could not be swept; trying again later", "every", sweepEvery)
		}
		orphans = found
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sweep releases those of the former orphans that still are, and returns the present ones.
func (s *Services) sweep(ctx context.Context, former map[claim]string) (map[claim]string, error) {
	held := map[claim]string{}
	for _, pool := range []string{addressPool, nodePortPool} {
		taken, err := s.addresses.claims.Claims(ctx, pool)
		if err != nil {
			return nil, err
		}
		for value, owner := range taken {
			held[claim{pool, value}] = owner
		}
	}
	if err := s.reconcile(ctx, held); err != nil {
		return nil, err
	}
	for c, owner := range held {
		if former[c] == owner {
			t := &transaction{pools: s.addresses, owner: owner}
			t.release(ctx, c)
			delete(held, c)
		}
	}
	return held, nil
}

// reconcile takes out of held what services have, and claims what they have lost.
func (s *Services) reconcile(ctx context.Context, held map[claim]string) error {
	all := genericapirequest.WithNamespace(ctx, "")
	list, err := s.store.List(all, &metainternalversion.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing services: %w", err)
	}
	services := list.(*corev1.ServiceList)
	for i := range services.Items {
		service := &services.Items[i]
		mine := owner(service, nil)
		for _, c := range holdings(service) {
			if held[c] == mine {
				delete(held, c)
				continue
			}
			if _, err := s.addresses.claims.Claim(ctx, c.pool, c.value, mine); err != nil {
				return err
			}
		}
	}
	return nil
}
