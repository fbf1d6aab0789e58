package subresource

import (
	"context"
	"fmt"
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apiserver/pkg/registry/generic/registry"
)

// storedRanges reads ServiceCIDRs from the store of the kind.
type storedRanges struct{ store *registry.Store }

// ready returns the ranges of the ServiceCIDRs that are ready and not being deleted, in order of their names.
func (s storedRanges) ready(ctx context.Context) ([]netip.Prefix, error) {
	object, err := s.store.List(clusterScope(ctx), &metainternalversion.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing ServiceCIDRs: %w", err)
	}
	list, ok := object.(*networkingv1.ServiceCIDRList)
	if !ok {
		return nil, fmt.Errorf("want a list of ServiceCIDRs, got %T", object)
	}
	var ranges []netip.Prefix
	for i := range list.Items {
		ranges = append(ranges, readyRanges(&list.Items[i])...)
	}
	return ranges, nil
}

// readyRanges returns the ranges of an object from which addresses may be allocated.
func readyRanges(object *networkingv1.ServiceCIDR) []netip.Prefix {
	if object.DeletionTimestamp != nil || !meta.IsStatusConditionTrue(object.Status.Conditions, networkingv1.ServiceCIDRConditionReady) {
		return nil
	}
	var ranges []netip.Prefix
	for _, cidr := range object.Spec.CIDRs {
		if prefix, err := netip.ParsePrefix(cidr); err == nil {
			ranges = append(ranges, prefix)
		}
	}
	return ranges
}
