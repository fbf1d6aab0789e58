package subresource

import (
	"context"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// memoryAllocator is an Allocator backed by a map.
type memoryAllocator map[allocation]string

func (m memoryAllocator) Allocate(_ context.Context, pool, value, owner string) (bool, error) {
	c := allocation{pool, value}
	if current, ok := m[c]; ok {
		return current == owner, nil
	}
	m[c] = owner
	return true, nil
}

func (m memoryAllocator) Release(_ context.Context, pool, value, owner string) (bool, error) {
	c := allocation{pool, value}
	released := m[c] == owner
	if released {
		delete(m, c)
	}
	return released, nil
}

func (m memoryAllocator) Owner(_ context.Context, pool, value string) (string, error) {
	return m[allocation{pool, value}], nil
}

func (m memoryAllocator) Allocated(_ context.Context, pool string) (map[string]string, error) {
	owners := map[string]string{}
	for c, owner := range m {
		if c.pool == pool {
			owners[c.value] = owner
		}
	}
	return owners, nil
}

func newTestAllocator(allocator Allocator, cidr string) *ServiceAllocator {
	return newServiceAllocator(netip.MustParsePrefix(cidr), addressAllocator{Allocator: allocator, objects: memoryAddresses{}})
}

func service(name string, spec corev1.ServiceSpec) *corev1.Service {
	if spec.Type == "" {
		spec.Type = corev1.ServiceTypeClusterIP
	}
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(name)}, Spec: spec}
}

func create(t *testing.T, s *ServiceAllocator, svc *corev1.Service) func(context.Context, bool) {
	t.Helper()
	finish, err := s.beginCreate(t.Context(), svc, &metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return finish
}

// update updates a service. write replaces the write of the store and returns its error.
func update(t *testing.T, s *ServiceAllocator, next, old *corev1.Service, write func() error) error {
	t.Helper()
	_, _, err := s.Update(t.Context(), func(ctx context.Context) (runtime.Object, bool, error) {
		finish, err := s.beginUpdate(ctx, next, old, &metav1.UpdateOptions{})
		if err != nil {
			return nil, false, err
		}
		finish(ctx, true)
		return next, false, write()
	})
	return err
}

func TestClusterIPIsAllocated(t *testing.T) {
	allocated := memoryAllocator{}
	s := newTestAllocator(allocated, "10.96.0.0/16")
	svc := service("a", corev1.ServiceSpec{})
	finish := create(t, s, svc)
	addr, err := netip.ParseAddr(svc.Spec.ClusterIP)
	if err != nil || !s.clusterIPs.network.Contains(addr) || len(svc.Spec.ClusterIPs) != 1 {
		t.Fatalf("got clusterIP %q and clusterIPs %v, want one of %s", svc.Spec.ClusterIP, svc.Spec.ClusterIPs, s.clusterIPs.network)
	}
	if *svc.Spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack || svc.Spec.IPFamilies[0] != corev1.IPv4Protocol {
		t.Errorf("got policy %v and families %v, want SingleStack, IPv4", *svc.Spec.IPFamilyPolicy, svc.Spec.IPFamilies)
	}
	finish(t.Context(), false)
	if len(allocated) != 0 {
		t.Errorf("allocations after a failed write: %v, want none", allocated)
	}
}

func TestInvalidRequestedClusterIPIsRejected(t *testing.T) {
	allocated := memoryAllocator{}
	s := newTestAllocator(allocated, "10.96.0.0/16")
	create(t, s, service("a", corev1.ServiceSpec{ClusterIP: "10.96.0.10"}))(t.Context(), true)
	for ip, want := range map[string]string{
		"10.96.0.10":      `Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.10"]: failed to allocate IP 10.96.0.10: provided IP is already allocated`,
		"10.96.0.010":     `Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.010"]: failed to allocate IP 10.96.0.010: provided IP is already allocated`,
		"192.168.001.001": `Service "b" is invalid: spec.clusterIPs: Invalid value: ["192.168.001.001"]: failed to allocate IP 192.168.001.001: the provided network does not match the current range`,
		"10.96.0.0":       `Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.0"]: failed to allocate IP 10.96.0.0: the provided network does not match the current range`,
		"10.96.255.255":   `Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.96.255.255"]: failed to allocate IP 10.96.255.255: the provided network does not match the current range`,
		"10.97.0.10":      `Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.97.0.10"]: failed to allocate IP 10.97.0.10: the provided network does not match the current range`,
	} {
		_, err := s.beginCreate(t.Context(), service("b", corev1.ServiceSpec{ClusterIP: ip}), &metav1.CreateOptions{})
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", ip, err, want)
		}
	}
}

// TestFirstClusterIPIsReserved checks that the first address is reserved for the kubernetes Service, even if the
// Service does not exist.
func TestFirstClusterIPIsReserved(t *testing.T) {
	s := newTestAllocator(memoryAllocator{}, "10.96.0.0/16")
	if _, err := s.beginCreate(t.Context(), service("b", corev1.ServiceSpec{ClusterIP: "10.96.0.1"}), &metav1.CreateOptions{}); err == nil {
		t.Error("the first address was allocated to another service")
	}
	kubernetes := service("kubernetes", corev1.ServiceSpec{ClusterIP: "10.96.0.1"})
	kubernetes.Namespace = "default"
	create(t, s, kubernetes)(t.Context(), true)
}

// TestUpdateReleasesAfterWrite checks that an update releases allocations after the write and not before, because
// the write may fail.
func TestUpdateReleasesAfterWrite(t *testing.T) {
	allocated := memoryAllocator{}
	s := newTestAllocator(allocated, "10.96.0.0/16")
	old := service("a", corev1.ServiceSpec{ClusterIP: "10.96.0.10", ClusterIPs: []string{"10.96.0.10"}})
	create(t, s, old)(t.Context(), true)
	next := service("a", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "x"})
	err := update(t, s, next, old, func() error {
		if len(allocated) != 1 {
			t.Errorf("allocations before the write: %v, want 1", allocated)
		}
		return nil
	})
	if err != nil || len(allocated) != 0 {
		t.Errorf("got error %v and allocations %v after the write, want none", err, allocated)
	}
}

// TestRequestedClusterIPIsReleased checks that different spellings of an address refer to the same allocation.
func TestRequestedClusterIPIsReleased(t *testing.T) {
	allocated := memoryAllocator{}
	s := newTestAllocator(allocated, "10.96.0.0/16")
	svc := service("a", corev1.ServiceSpec{ClusterIP: "10.96.0.010", ClusterIPs: []string{"10.96.0.010"}})
	create(t, s, svc)(t.Context(), true)
	s.afterDelete(svc, &metav1.DeleteOptions{})
	if len(allocated) != 0 {
		t.Errorf("allocations after the delete: %v, want none", allocated)
	}
}

// TestLoadBalancerMayRequestNodePorts checks that a load balancer without required node ports may request some,
// which are then allocated.
func TestLoadBalancerMayRequestNodePorts(t *testing.T) {
	allocated, allocateNodePorts := memoryAllocator{}, false
	s := newTestAllocator(allocated, "10.96.0.0/16")
	balancer := func(name string, port int32) *corev1.Service {
		return service(name, corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, AllocateLoadBalancerNodePorts: &allocateNodePorts,
			Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, NodePort: port}}})
	}
	create(t, s, balancer("a", 30080))(t.Context(), true)
	create(t, s, balancer("b", 0))(t.Context(), true)
	for _, port := range []int32{30080, 22, -5, 99999} {
		if _, err := s.beginCreate(t.Context(), balancer("c", port), &metav1.CreateOptions{}); err == nil {
			t.Errorf("node port %d was allocated, want an error", port)
		}
	}
}

// TestClusterIPRangeIsFull checks that every address of a range is allocated once, then the range is full.
func TestClusterIPRangeIsFull(t *testing.T) {
	allocated := memoryAllocator{}
	s := newTestAllocator(allocated, "10.0.0.0/29") // .1, the kubernetes Service, to .6
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		create(t, s, service(name, corev1.ServiceSpec{}))(t.Context(), true)
	}
	for c := range allocated {
		if c.value == "10.0.0.0" || c.value == "10.0.0.1" || c.value == "10.0.0.7" {
			t.Errorf("%s was allocated, but it is reserved", c.value)
		}
	}
	if _, err := s.beginCreate(t.Context(), service("g", corev1.ServiceSpec{}), &metav1.CreateOptions{}); err == nil {
		t.Error("a sixth address was allocated from a range of five")
	}
}

func TestNodePortsAreAllocatedAndReleased(t *testing.T) {
	allocated := memoryAllocator{}
	s := newTestAllocator(allocated, "10.96.0.0/16")
	svc := service("a", corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{
		{Port: 53, Protocol: corev1.ProtocolTCP}, {Port: 53, Protocol: corev1.ProtocolUDP}, {Port: 80, Protocol: corev1.ProtocolTCP, NodePort: 30080},
	}})
	create(t, s, svc)(t.Context(), true)
	ports := svc.Spec.Ports
	if ports[0].NodePort < firstNodePort || ports[0].NodePort > lastNodePort || ports[0].NodePort != ports[1].NodePort || ports[2].NodePort != 30080 {
		t.Errorf("got node ports %d, %d, %d, want a shared one in the range and 30080", ports[0].NodePort, ports[1].NodePort, ports[2].NodePort)
	}
	duplicate := service("b", corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080}}})
	if _, err := s.beginCreate(t.Context(), duplicate, &metav1.CreateOptions{}); err == nil {
		t.Error("a node port was allocated twice")
	}
	// A service without node ports and cluster IPs releases all of them.
	changed := svc.DeepCopy()
	changed.Spec.Type = corev1.ServiceTypeExternalName
	if err := update(t, s, changed, svc, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if len(allocated) != 0 {
		t.Errorf("allocations of a service of type ExternalName: %v, want none", allocated)
	}
}

func TestDryRunAllocatesNothing(t *testing.T) {
	allocated := memoryAllocator{}
	s := newTestAllocator(allocated, "10.96.0.0/16")
	svc := service("a", corev1.ServiceSpec{})
	if _, err := s.beginCreate(t.Context(), svc, &metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	if svc.Spec.ClusterIP == "" || len(allocated) != 0 {
		t.Errorf("got clusterIP %q and allocations %v, want an address and no allocation", svc.Spec.ClusterIP, allocated)
	}
}
