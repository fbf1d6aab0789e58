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

// addressOfTest returns a stored IPAddress of testOwner and its allocator.
func addressOfTest(t *testing.T) (addressAllocator, memoryAllocator, memoryAddresses) {
	t.Helper()
	held, objects := memoryAllocator{}, memoryAddresses{}
	a := addressAllocator{held, objects}
	if free, err := a.Allocate(t.Context(), clusterIPPool, testIP, testOwner); !free || err != nil {
		t.Fatal(free, err)
	}
	return a, held, objects
}

// A user removes the label: the release of the address deletes the object nevertheless.
func TestReleaseDeletesObjectWithoutLabel(t *testing.T) {
	a, _, objects := addressOfTest(t)
	objects[testIP].Labels = nil
	if _, err := a.Release(t.Context(), clusterIPPool, testIP, testOwner); err != nil || len(objects) != 0 {
		t.Errorf("error %v, IPAddresses %v", err, objects.parents())
	}
}

// The object of another manager is kept while the allocation of its address is not that of a Service.
func TestRepairKeepsReservedAddress(t *testing.T) {
	a, _, objects := addressOfTest(t)
	objects[testIP] = newIPAddress(testIP, "n/gateway/u")
	objects[testIP].Labels = nil
	owners := map[string]string{testIP: testOwner}
	for used, want := range map[string]string{"n/b/u": "n/gateway", testOwner: "n/a"} {
		list, err := objects.list(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		saved := maps.Clone(objects)
		if err := a.repairObjects(t.Context(), list, owners, map[string]string{testIP: used}); err != nil || objects.parents()[testIP] != want {
			t.Errorf("Services have %s: error %v, IPAddress of %v, want %s", used, err, objects.parents(), want)
		}
		maps.Copy(objects, saved)
	}
}

// A Service is deleted between the read of the allocations and the create: its IPAddress does not stay.
func TestRepairDeletesObjectOfReleasedAddress(t *testing.T) {
	objects := memoryAddresses{}
	a := addressAllocator{memoryAllocator{}, objects}
	owners := map[string]string{testIP: testOwner}
	if err := a.repairObjects(t.Context(), nil, owners, owners); err != nil || len(objects) != 0 {
		t.Errorf("error %v, IPAddresses %v", err, objects.parents())
	}
}

// A stale object that waits for a finalizer makes its address unavailable, and is no error.
func TestTerminatingAddressIsSkipped(t *testing.T) {
	a, held, objects := addressOfTest(t)
	objects[testIP].Finalizers = []string{"example.com/wait"}
	if _, err := a.Release(t.Context(), clusterIPPool, testIP, testOwner); err != nil {
		t.Fatal(err)
	}
	if free, err := a.Allocate(t.Context(), clusterIPPool, testIP, "n/b/u"); free || err != nil || len(held) != 0 {
		t.Errorf("free %t, error %v, allocations %v", free, err, held)
	}
}

// failingCreate fails each create.
type failingCreate struct{ memoryAddresses }

func (failingCreate) create(context.Context, *networkingv1.IPAddress) (*networkingv1.IPAddress, error) {
	return nil, errors.New("full disk")
}

// A Service that is created during the repair keeps its IPAddress. If it has none and the create fails, the Service
// keeps its allocation.
func TestReconcileKeepsNewService(t *testing.T) {
	_, held, objects := addressOfTest(t)
	s := newServiceAllocator(netip.MustParsePrefix("10.0.0.0/28"), addressAllocator{held, failingCreate{objects}})
	svc := service("a", corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: testIP, ClusterIPs: []string{testIP}})
	svc.UID = "u"
	uid := objects[testIP].UID
	if _, err := s.reconcile(t.Context(), []corev1.Service{*svc}, map[allocation]string{}); err != nil || objects[testIP] == nil || objects[testIP].UID != uid {
		t.Errorf("error %v, IPAddresses %v", err, objects)
	}
	delete(objects, testIP)
	if _, err := s.reconcile(t.Context(), []corev1.Service{*svc}, map[allocation]string{}); err == nil || len(held) != 1 {
		t.Errorf("error %v, allocations %v", err, held)
	}
}

// failingAllocated fails to list allocations.
type failingAllocated struct{ memoryAllocator }

func (failingAllocated) Allocated(context.Context, string) (map[string]string, error) {
	return nil, errors.New("no leader")
}

// A repair that cannot read the allocations keeps the orphans of the round before.
func TestFailedRepairKeepsOrphans(t *testing.T) {
	s := newServiceAllocator(netip.MustParsePrefix("10.0.0.0/28"), addressAllocator{failingAllocated{}, memoryAddresses{}})
	former := map[allocation]string{{clusterIPPool, testIP}: testOwner}
	if orphans, err := s.repair(t.Context(), former); err == nil || !maps.Equal(orphans, former) {
		t.Errorf("error %v, orphans %v", err, orphans)
	}
}
