package agent

import (
	"cmp"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// ipAllocator gives the pods of a node addresses of its pod network. The network
// and gateway addresses are left out.
type ipAllocator struct {
	used map[string]bool
	next netip.Addr
}

// allocate gives a pod an address, the one it has when it has one. It is empty when
// the node has none left; such a pod runs without.
func (s *ipAllocator) allocate(cidr string, p *corev1.Pod) []string {
	if s.used == nil {
		s.used = map[string]bool{}
	}
	if p.Spec.HostNetwork {
		return nil
	}
	if ip := p.Status.PodIP; ip != "" {
		s.used[ip] = true
		return []string{ip}
	}
	net, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil
	}
	first := net.Masked().Addr().Next().Next()
	if !s.next.IsValid() {
		s.next = first
	}
	for at, round := s.next, 0; round < 2; at = at.Next() {
		if !net.Contains(at) {
			at = first
			round++
		}
		if ip := at.String(); !s.used[ip] {
			s.used[ip], s.next = true, at.Next()
			return []string{ip}
		}
	}
	return nil
}

func (s *ipAllocator) release(ip string) { delete(s.used, ip) }

// compareResourceVersions compares two resource versions as numbers.
func compareResourceVersions(a, b string) (int, error) {
	x, err := strconv.ParseUint(a, 10, 64)
	if err != nil {
		return 0, err
	}
	y, err := strconv.ParseUint(b, 10, 64)
	return cmp.Compare(x, y), err
}

// compareByName orders pods by namespace and name.
func compareByName(a, b *corev1.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
