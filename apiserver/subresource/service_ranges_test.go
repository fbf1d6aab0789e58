package subresource

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestClusterIPsFromFurtherRanges checks that when the range is full, cluster IPs come from the further ranges of
// its family, including their first address.
func TestClusterIPsFromFurtherRanges(t *testing.T) {
	allocated := memoryAllocator{}
	s := newTestAllocator(allocated, "10.0.0.0/29") // 5 addresses
	var ranges []netip.Prefix
	s.clusterIPs.further = func(context.Context) ([]netip.Prefix, error) { return ranges, nil }
	beginCreate := func(name, ip string) error {
		_, err := s.beginCreate(t.Context(), service(name, corev1.ServiceSpec{ClusterIP: ip}), &metav1.CreateOptions{})
		return err
	}
	if err := beginCreate("requested", "10.9.0.1"); err == nil {
		t.Error("allocated 10.9.0.1 without a range")
	}
	for _, cidr := range []string{"fd00::/112", "10.8.0.0/32", "10.9.0.0/30", "10.9.0.0/30", "10.0.0.0/29"} {
		ranges = append(ranges, netip.MustParsePrefix(cidr))
	}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		if err := beginCreate(name, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := beginCreate("requested", "10.9.0.3"); err == nil {
		t.Error("allocated the broadcast address 10.9.0.3")
	}
	free := "10.9.0.1"
	if allocated[allocation{clusterIPPool, free}] != "" {
		free = "10.9.0.2"
	}
	if err := beginCreate("requested", free); err != nil {
		t.Error(err)
	}
	if err := beginCreate("g", ""); err == nil || len(allocated) != 7 {
		t.Errorf("got error %v and allocations %v, want 7 and an error", err, allocated)
	}
}

// TestFurtherRangeContainsFullRange checks that a further range that contains the full one gives its other
// addresses, and not the one of the kubernetes Service.
func TestFurtherRangeContainsFullRange(t *testing.T) {
	allocated := memoryAllocator{}
	s := newTestAllocator(allocated, "10.0.0.0/29") // 5 addresses and the one of the kubernetes Service
	s.clusterIPs.further = func(context.Context) ([]netip.Prefix, error) {
		return []netip.Prefix{netip.MustParsePrefix("10.0.0.0/28")}, nil
	}
	for i := range 13 {
		if _, err := s.clusterIPs.allocateNext(t.Context(), fmt.Sprint("n/a/", i)); err != nil {
			t.Fatalf("got error %v and allocations %v, want 13", err, allocated)
		}
	}
	if address, err := s.clusterIPs.allocateNext(t.Context(), "n/a/a"); !errors.Is(err, errFull) {
		t.Errorf("got address %q and error %v, want a full range", address, err)
	}
	s = newTestAllocator(allocated, "10.96.0.0/16")
	s.clusterIPs.further = func(context.Context) ([]netip.Prefix, error) {
		return []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12")}, nil
	}
	ranges, err := s.clusterIPs.furtherRanges(t.Context())
	if err != nil || len(ranges) != 1 || ranges[0].size() != 1<<20-2 {
		t.Errorf("got ranges %v and error %v, want a range of 2^20-2 addresses", ranges, err)
	}
}

func TestReadyRanges(t *testing.T) {
	object := &networkingv1.ServiceCIDR{Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.9.0.0/24", "fd00::/112"}}}
	if got := readyRanges(object); len(got) != 0 {
		t.Errorf("object that is not ready: %v, want none", got)
	}
	meta.SetStatusCondition(&object.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue})
	if got := readyRanges(object); len(got) != 2 {
		t.Errorf("ready object: %v, want 2", got)
	}
	object.DeletionTimestamp = &metav1.Time{}
	if got := readyRanges(object); len(got) != 0 {
		t.Errorf("object that is being deleted: %v, want none", got)
	}
}
