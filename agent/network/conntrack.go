package network

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The kernel asks the rules about a flow's first packet only, and remembers the answer for those that come after it. UDP has no
// other end of a flow than silence: who goes on sending from one port is led on to where the rules of then led, which may be a pod that is
// gone, and the next one that has its address; or, before a port was mapped, nowhere.

// flowMatcher matches those of the kernel's table that are to be forgotten.
type flowMatcher func(f *netlink.ConntrackFlow) bool

// MatchConntrackFlow is what netlink asks of each flow.
func (m flowMatcher) MatchConntrackFlow(f *netlink.ConntrackFlow) bool { return m(f) }

// deleteFlows has the kernel ask the rules again. What it fails to forget it forgets by itself after 30 to 120 s of silence.
func (n *Network) deleteFlows(which string, match flowMatcher) {
	if _, err := netlink.ConntrackDeleteFilters(netlink.ConntrackTable, unix.AF_INET, match); err != nil {
		n.opts.Log.Info("Flows are not forgotten: they end with 2 minutes of silence", "bridge", n.opts.Bridge, "flows", which, "why", err.Error())
	}
}

// flowsToPorts matches flows of UDP to such ports of the host itself that no rule has led elsewhere. TCP's are left alone: one that is
// asked about again is led away in its middle.
func flowsToPorts(ports []Port) flowMatcher {
	return func(f *netlink.ConntrackFlow) bool {
		return f.Forward.Protocol == unix.IPPROTO_UDP && f.Reverse.SrcIP.Equal(f.Forward.DstIP) && slices.ContainsFunc(ports, func(p Port) bool {
			return p.Protocol == "udp" && p.Host == f.Forward.DstPort
		}) && isLocalAddress(f.Forward.DstIP)
	}
}

// isLocalAddress says whether an address is the host's own; other hosts' flows that pass through keep their translation.
func isLocalAddress(ip net.IP) bool {
	routes, err := netlink.RouteGet(ip)
	return err == nil && len(routes) > 0 && routes[0].Type == unix.RTN_LOCAL
}

// flowsToPods matches flows of all protocols that rules have led to the addresses. A pod's own flows, and those that go to its own address, are not.
func flowsToPods(to []netip.Addr) flowMatcher {
	return func(f *netlink.ConntrackFlow) bool {
		at, ok := netip.AddrFromSlice(f.Reverse.SrcIP)
		return ok && slices.Contains(to, at.Unmap()) && !f.Forward.DstIP.Equal(f.Reverse.SrcIP)
	}
}

// dnatDestinations are the pods to which rules that were removed have led.
func dnatDestinations(undo string) (out []netip.Addr) {
	for line := range strings.Lines(undo) {
		_, rest, _ := strings.Cut(line, "--to-destination ")
		if at, err := netip.ParseAddrPort(strings.TrimSpace(rest)); err == nil && !slices.Contains(out, at.Addr()) {
			out = append(out, at.Addr())
		}
	}
	return out
}
