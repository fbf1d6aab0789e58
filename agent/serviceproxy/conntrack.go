//go:build linux

package serviceproxy

import (
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// staleFlows selects UDP flows to addresses of Services that lead to none of the endpoints.
//
// NAT applies to the first packet of a flow. Packets of a UDP client that uses one port would continue to reach an
// endpoint that no longer exists. Its conntrack entry must therefore be deleted. TCP connections to an endpoint that
// terminates continue until they end.
type staleFlows struct {
	endpoints map[netip.AddrPort][]netip.AddrPort // by address of the Service
	nodePorts map[uint16][]netip.AddrPort
}

func newStaleFlows() *staleFlows {
	return &staleFlows{endpoints: map[netip.AddrPort][]netip.AddrPort{}, nodePorts: map[uint16][]netip.AddrPort{}}
}

// add records the change of a Service's UDP ports.
func (s *staleFlows) add(old, updated *fragment) {
	if old != nil {
		for _, p := range old.udp {
			s.addPort(udpPort{addr: p.addr, port: p.port})
		}
	}
	for _, p := range updated.udp {
		s.addPort(p)
	}
}

func (s *staleFlows) addPort(p udpPort) {
	if p.addr.IsValid() {
		s.endpoints[netip.AddrPortFrom(p.addr, p.port)] = p.endpoints
	} else {
		s.nodePorts[p.port] = p.endpoints
	}
}

func (s *staleFlows) empty() bool { return len(s.endpoints)+len(s.nodePorts) == 0 }

// MatchConntrackFlow implements netlink.CustomConntrackFilter.
func (s *staleFlows) MatchConntrackFlow(f *netlink.ConntrackFlow) bool {
	if f.Forward.Protocol != unix.IPPROTO_UDP {
		return false
	}
	service, endpoint := addrPort(f.Forward.DstIP, f.Forward.DstPort), addrPort(f.Reverse.SrcIP, f.Reverse.SrcPort)
	if valid, ok := s.endpoints[service]; ok {
		return !slices.Contains(valid, endpoint)
	}
	valid, ok := s.nodePorts[service.Port()]
	return ok && !slices.Contains(valid, endpoint) && isLocal(f.Forward.DstIP)
}

func addrPort(ip net.IP, port uint16) netip.AddrPort {
	a, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(a.Unmap(), port)
}

// isLocal reports whether the address belongs to this machine.
func isLocal(ip net.IP) bool {
	routes, err := netlink.RouteGet(ip)
	return err == nil && len(routes) > 0 && routes[0].Type == unix.RTN_LOCAL
}

// delete deletes the flows. It only logs errors, because the kernel removes flows without packets.
func (s *staleFlows) delete(f family, log klog.Logger) {
	if s.empty() {
		return
	}
	if _, err := netlink.ConntrackDeleteFilters(netlink.ConntrackTable, netlink.InetFamily(f), s); err != nil {
		log.Info("Failed to delete conntrack entries; UDP clients may reach old endpoints until the entries expire", "err", err.Error())
	}
}
