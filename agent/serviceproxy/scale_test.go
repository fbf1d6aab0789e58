//go:build linux

package serviceproxy

import (
	"fmt"
	"net/netip"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// numberedService returns the i-th of many Services with its key and its two endpoints.
func numberedService(i int) (string, *corev1.Service, []*discoveryv1.EndpointSlice) {
	s := service(func(s *corev1.Service) {
		s.Name = fmt.Sprintf("web-%d", i)
		s.Spec.ClusterIP = netip.AddrFrom4([4]byte{10, 97, byte(i >> 8), byte(i)}).String()
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
	})
	e := func(last byte) discoveryv1.Endpoint {
		return endpointOn("n1", netip.AddrFrom4([4]byte{10, byte(100 + last), byte(i >> 8), byte(i)}), "ready")
	}
	return "default/" + s.Name, s, slice(corev1.ProtocolTCP, e(1), e(2))
}

// BenchmarkServices measures the first transaction of 10,000 Services, an update of one, and the
// comparison of all with the kernel.
func BenchmarkServices(b *testing.B) {
	if os.Geteuid() != 0 || Check() != nil {
		b.Skip("requires root and nftables")
	}
	r := newTestRuleset()
	defer func() { _ = Remove() }()
	fill := func(n int) {
		for i := range n {
			r.set(numberedService(i))
		}
	}
	fill(10_000)
	b.Run("replace", func(b *testing.B) {
		for b.Loop() {
			r.replaceTables()
			if err := r.commit(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("update", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			key, s, list := numberedService(i % 10_000)
			if i%2 == 0 {
				list[0].Endpoints = list[0].Endpoints[:1]
			}
			r.set(key, s, list)
			if err := r.commit(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if same, err := r.tables[0].verify(); err != nil || !same {
				b.Fatalf("verify: %v, %v, want true", same, err)
			}
		}
	})
}

// TestManyServices checks that a transaction with many Services fits into the socket's buffers.
func TestManyServices(t *testing.T) {
	m := newMachine(t)
	client, a := m.startPod("client"), m.startPod("a")
	r := newTestRuleset()
	for i := range 2000 {
		r.set(numberedService(i))
	}
	r.set("default/web", service(nil), slice(corev1.ProtocolTCP, endpointOn("n1", a.ip, "ready")))
	m.commit(r)
	m.checkApplied(r)
	if got := m.countResponses(client, "10.96.7.7:80", 3); got["a"] != 3 {
		t.Errorf("responses: %v, want 3 from a", got)
	}
	for i := range 2000 {
		key, _, _ := numberedService(i)
		r.set(key, nil, nil)
	}
	m.commit(r)
	m.checkApplied(r)
}
