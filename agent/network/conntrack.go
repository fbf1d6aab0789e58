package network

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// flowMatcher selects conntrack entries to delete. Conntrack applies NAT rules to the first packet of a
// flow only. A UDP flow ends by a timeout, so a client that keeps sending from one port continues to
// reach the old destination. That is the IP of a deleted pod, which another pod may now have. These
// flows must be deleted when the rules change.
type flowMatcher func(f *netlink.ConntrackFlow) bool

// MatchConntrackFlow implements netlink.CustomConntrackFilter.
func (m flowMatcher) MatchConntrackFlow(f *netlink.ConntrackFlow) bool { return m(f) }

// deleteFlows deletes conntrack entries. An error is only logged, because UDP entries expire after
// 30 to 120 s without packets.
func (n *Network) deleteFlows(flows string, match flowMatcher) {
	if _, err := netlink.ConntrackDeleteFilters(netlink.ConntrackTable, unix.AF_INET, match); err != nil {
		n.opts.Log.Info("Failed to delete conntrack entries, they expire within 2 minutes", "bridge", n.opts.Bridge, "flows", flows, "err", err.Error())
	}
}

// flowsToPorts matches UDP flows to these ports of this host that were not subject to DNAT. TCP
// flows are excluded: redirecting an established connection would break it. Forwarded flows of other
// hosts keep their translation.
func flowsToPorts(ports []Port) flowMatcher {
	return func(f *netlink.ConntrackFlow) bool {
		return f.Forward.Protocol == unix.IPPROTO_UDP && f.Reverse.SrcIP.Equal(f.Forward.DstIP) && slices.ContainsFunc(ports, func(p Port) bool {
			return p.Protocol == "udp" && p.Host == f.Forward.DstPort
		}) && isLocalAddress(f.Forward.DstIP)
	}
}

func isLocalAddress(ip net.IP) bool {
	routes, err := netlink.RouteGet(ip)
	return err == nil && len(routes) > 0 && routes[0].Type == unix.RTN_LOCAL
}

// flowsToPods matches flows of any protocol that DNAT redirected to one of the addresses. It does not match the pods'
// own flows or flows addressed to the pods directly.
func flowsToPods(addresses []netip.Addr) flowMatcher {
	return func(f *netlink.ConntrackFlow) bool {
		addr, ok := netip.AddrFromSlice(f.Reverse.SrcIP)
		return ok && slices.Contains(addresses, addr.Unmap()) && !f.Forward.DstIP.Equal(f.Reverse.SrcIP)
	}
}

// dnatDestinations returns the pod IPs in removed DNAT rules.
func dnatDestinations(rules string) (out []netip.Addr) {
	for line := range strings.Lines(rules) {
		_, destination, _ := strings.Cut(line, "--to-destination ")
		if addr, err := netip.ParseAddrPort(strings.TrimSpace(destination)); err == nil && !slices.Contains(out, addr.Addr()) {
			out = append(out, addr.Addr())
		}
	}
	return out
}
