package subresource

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

const (
	testIP    = "10.0.0.5"
	testOwner = "n/a/u"
)

// newTestAddress returns a stored IPAddress of testOwner and its allocator.
func newTestAddress(t *testing.T) (addressAllocator, memoryAllocator, memoryAddresses) {
	t.Helper()
	allocations, objects := memoryAllocator{}, memoryAddresses{}
	a := addressAllocator{allocations, objects}
	if free, err := a.Allocate(t.Context(), clusterIPPool, testIP, testOwner); !free || err != nil {
		t.Fatalf("got free %t and error %v, want true and no error", free, err)
	}
	return a, allocations, objects
}

// TestReleaseDeletesObjectWithoutLabel checks that Release deletes the object even if a user has removed its
// label.
func TestReleaseDeletesObjectWithoutLabel(t *testing.T) {
	a, _, objects := newTestAddress(t)
	objects[testIP].Labels = nil
	if _, err := a.Release(t.Context(), clusterIPPool, testIP, testOwner); err != nil || len(objects) != 0 {
		t.Errorf("got error %v and IPAddresses %v, want none", err, objects.parents())
	}
}

// TestRepairKeepsReservedAddress checks that the repair keeps the object of another manager unless a Service has
// its address.
func TestRepairKeepsReservedAddress(t *testing.T) {
	a, _, objects := newTestAddress(t)
	objects[testIP] = newIPAddress(testIP, "n/gateway/u")
	objects[testIP].Labels = nil
	owners := map[string]string{testIP: testOwner}
	for used, want := range map[string]string{"n/b/u": "n/gateway", testOwner: "n/a"} {
		list, err := objects.list(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		original := maps.Clone(objects)
		if err := a.repairObjects(t.Context(), list, owners, map[string]string{testIP: used}); err != nil || objects.parents()[testIP] != want {
			t.Errorf("Service %s has the address: got error %v and IPAddress of %v, want %s", used, err, objects.parents(), want)
		}
		maps.Copy(objects, original)
	}
}

// TestRepairDeletesObjectOfReleasedAddress checks that the repair does not leave an IPAddress of a Service that
// was deleted after the allocations were read.
func TestRepairDeletesObjectOfReleasedAddress(t *testing.T) {
	objects := memoryAddresses{}
	a := addressAllocator{memoryAllocator{}, objects}
	owners := map[string]string{testIP: testOwner}
	if err := a.repairObjects(t.Context(), nil, owners, owners); err != nil || len(objects) != 0 {
		t.Errorf("got error %v and IPAddresses %v, want none", err, objects.parents())
	}
}

// TestAllocateSkipsTerminatingAddress checks that a stale object with a finalizer makes its address unavailable.
// This is not an error.
func TestAllocateSkipsTerminatingAddress(t *testing.T) {
	a, allocations, objects := newTestAddress(t)
	objects[testIP].Finalizers = []string{"example.com/wait"}
	if _, err := a.Release(t.Context(), clusterIPPool, testIP, testOwner); err != nil {
		t.Fatal(err)
	}
	if free, err := a.Allocate(t.Context(), clusterIPPool, testIP, "n/b/u"); free || err != nil || len(allocations) != 0 {
		t.Errorf("got free %t, error %v and allocations %v, want no allocation", free, err, allocations)
	}
}

// failingCreate is a store of IPAddresses whose creates fail.
type failingCreate struct{ memoryAddresses }

func (failingCreate) create(context.Context, *networkingv1.IPAddress) (*networkingv1.IPAddress, error) {
	return nil, errors.New("full disk")
}

// TestReconcileKeepsNewService checks that a Service that is created during the repair keeps its IPAddress. If the
// create of a missing IPAddress fails, the Service keeps its allocation.
func TestReconcileKeepsNewService(t *testing.T) {
	_, allocations, objects := newTestAddress(t)
	s := newServiceAllocator(netip.MustParsePrefix("10.0.0.0/28"), addressAllocator{allocations, failingCreate{objects}})
	svc := service("a", corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: testIP, ClusterIPs: []string{testIP}})
	svc.UID = "u"
	uid := objects[testIP].UID
	if _, err := s.reconcile(t.Context(), []corev1.Service{*svc}, map[allocation]string{}); err != nil || objects[testIP] == nil || objects[testIP].UID != uid {
		t.Errorf("got error %v and IPAddresses %v, want no change", err, objects)
	}
	delete(objects, testIP)
	if _, err := s.reconcile(t.Context(), []corev1.Service{*svc}, map[allocation]string{}); err == nil || len(allocations) != 1 {
		t.Errorf("failed create: got error %v and allocations %v, want an error and 1 allocation", err, allocations)
	}
}

// failingAllocated is an allocator whose allocations cannot be listed.
type failingAllocated struct{ memoryAllocator }

func (failingAllocated) Allocated(context.Context, string) (map[string]string, error) {
	return nil, errors.New("no leader")
}

// TestFailedRepairKeepsOrphans checks that a repair that cannot read the allocations returns the orphans of the
// previous repair.
func TestFailedRepairKeepsOrphans(t *testing.T) {
	s := newServiceAllocator(netip.MustParsePrefix("10.0.0.0/28"), addressAllocator{failingAllocated{}, memoryAddresses{}})
	former := map[allocation]string{{clusterIPPool, testIP}: testOwner}
	if orphans, err := s.repair(t.Context(), former); err == nil || !maps.Equal(orphans, former) {
		t.Errorf("got orphans %v and error %v, want an error and the orphans %v", orphans, err, former)
	}
}
