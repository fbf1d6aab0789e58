package agent

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

// ipAllocator assigns pod IPs of a simulated node. It skips the network, gateway and broadcast addresses.
type ipAllocator struct {
	used map[string]bool
	next netip.Addr
}

// allocate returns the pod's existing IP, or a free one of the range cidr. It returns nil for a pod on the host
// network, and if no IP is free: the pod then runs without one.
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
	if !isPodIP(prefix, first) {
		return nil
	}
	if !a.next.IsValid() {
		a.next = first
	}
	for addr, wraps := a.next, 0; wraps < 2; addr = addr.Next() {
		if !isPodIP(prefix, addr) {
			addr = first
			wraps++
		}
		if ip := addr.String(); !a.used[ip] {
			a.used[ip], a.next = true, addr.Next()
			return []string{ip}
		}
	}
	return nil
}

// isPodIP reports whether addr is in the range and is not its broadcast address, which only IPv4 has.
func isPodIP(prefix netip.Prefix, addr netip.Addr) bool {
	return prefix.Contains(addr) && (addr.Is6() || prefix.Contains(addr.Next()))
}

func (a *ipAllocator) release(ip string) { delete(a.used, ip) }
