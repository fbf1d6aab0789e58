package agent

import (
	"cmp"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// ipAllocator assigns pod IPs of a simulated node. It skips the network and gateway addresses.
type ipAllocator struct {
	used map[string]bool
	next netip.Addr
}

// allocate returns the pod's existing IP, or a free one. It returns nil if none is free; the
// pod then runs without an IP.
func (a *ipAllocator) allocate(cidr string, p *corev1.Pod) []string {
	if a.used == nil {
		a.used = map[string]bool{}
	}
	if p.Spec.HostNetwork {
		return nil
	}
	if ip := p.Status.PodIP; ip != "" {
		a.used[ip] = true
		return []string{ip}
	}
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil
	}
	first := prefix.Masked().Addr().Next().Next()
	if !a.next.IsValid() {
		a.next = first
	}
	for addr, round := a.next, 0; round < 2; addr = addr.Next() {
		if !prefix.Contains(addr) {
			addr = first
			round++
		}
		if ip := addr.String(); !a.used[ip] {
			a.used[ip], a.next = true, addr.Next()
			return []string{ip}
		}
	}
	return nil
}

func (a *ipAllocator) release(ip string) { delete(a.used, ip) }

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
