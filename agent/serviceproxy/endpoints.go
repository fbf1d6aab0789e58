//go:build linux

package serviceproxy

import (
	"cmp"
	"net/netip"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// endpoint is an address of a Service port.
type endpoint struct {
	addr         netip.AddrPort
	ready        bool
	serving      bool
	terminating  bool
	node         string
	local        bool     // on a node of this machine
	zones, nodes []string // names in the hints of the endpoint
}

// location has the nodes that run on this machine, and their zone.
type location struct {
	nodes map[string]bool
	zone  string
	// podCIDRs has the pod CIDRs of each node, if several nodes run on this machine.
	podCIDRs map[string][]netip.Prefix
}

// portKey identifies the port of an EndpointSlice by name.
type portKey struct{ name, protocol string }

// endpointsByPort returns the endpoints of the EndpointSlices of one address type, sorted by address. If two
// slices have the same address, a ready endpoint takes precedence, then a serving one.
func endpointsByPort(endpointSlices []*discoveryv1.EndpointSlice, family discoveryv1.AddressType, loc location) map[portKey][]endpoint {
	out := map[portKey][]endpoint{}
	for _, s := range endpointSlices {
		if s.AddressType != family {
			continue
		}
		for _, p := range s.Ports {
			if p.Port == nil || *p.Port < 1 || *p.Port > 65535 {
				continue
			}
			key := portKey{deref(p.Name, ""), string(deref(p.Protocol, "TCP"))}
			for i := range s.Endpoints {
				if e, ok := newEndpoint(&s.Endpoints[i], uint16(*p.Port), family, loc); ok {
					out[key] = append(out[key], e)
				}
			}
		}
	}
	for key, list := range out {
		slices.SortFunc(list, func(a, b endpoint) int {
			return cmp.Or(a.addr.Compare(b.addr), compareBool(b.ready, a.ready), compareBool(b.serving, a.serving))
		})
		out[key] = slices.CompactFunc(list, func(a, b endpoint) bool { return a.addr == b.addr })
	}
	return out
}

// newEndpoint converts an endpoint. It returns false if the endpoint has no address, or if its first address is not of
// the family.
func newEndpoint(e *discoveryv1.Endpoint, port uint16, family discoveryv1.AddressType, loc location) (endpoint, bool) {
	if len(e.Addresses) == 0 {
		return endpoint{}, false
	}
	// The API defines a meaning only for the first address.
	a, err := netip.ParseAddr(e.Addresses[0])
	if err != nil || a.Is4() != (family == discoveryv1.AddressTypeIPv4) {
		return endpoint{}, false
	}
	ready := deref(e.Conditions.Ready, true)
	out := endpoint{addr: netip.AddrPortFrom(a, port), ready: ready, serving: deref(e.Conditions.Serving, ready),
		terminating: deref(e.Conditions.Terminating, false), node: deref(e.NodeName, ""), local: e.NodeName != nil && loc.nodes[*e.NodeName]}
	if e.Hints != nil {
		for _, z := range e.Hints.ForZones {
			out.zones = append(out.zones, z.Name)
		}
		for _, n := range e.Hints.ForNodes {
			out.nodes = append(out.nodes, n.Name)
		}
	}
	return out, true
}

// usableEndpoints returns the ready endpoints. If there are none, it returns those that are terminating but
// still serving, so that the Service accepts connections until its last pod has stopped.
func usableEndpoints(list []endpoint) []endpoint {
	if ready := filter(list, func(e endpoint) bool { return e.ready }); len(ready) > 0 {
		return ready
	}
	return filter(list, func(e endpoint) bool { return e.serving && e.terminating })
}

// clusterEndpoints returns the endpoints for the policy Cluster.
func clusterEndpoints(list []endpoint, loc location) []netip.AddrPort {
	return addresses(preferHinted(usableEndpoints(list), loc))
}

// localEndpoints returns the endpoints for the policy Local.
func localEndpoints(list []endpoint) []netip.AddrPort {
	return addresses(usableEndpoints(filter(list, func(e endpoint) bool { return e.local })))
}

// nodeEndpoints returns the endpoints to which the policy Local sends packets from pods of the node.
func nodeEndpoints(list []endpoint, node string) []netip.AddrPort {
	return addresses(usableEndpoints(filter(list, func(e endpoint) bool { return e.node == node })))
}

// preferHinted returns the endpoints whose hints name a node of this machine, or if there are none, those
// whose hints name its zone. If there are none of either, it returns all endpoints. It ignores the hints of
// a kind (node or zone) unless all endpoints have them.
func preferHinted(list []endpoint, loc location) []endpoint {
	if !slices.ContainsFunc(list, func(e endpoint) bool { return len(e.nodes) == 0 }) {
		byNode := filter(list, func(e endpoint) bool {
			return slices.ContainsFunc(e.nodes, func(n string) bool { return loc.nodes[n] })
		})
		if len(byNode) > 0 {
			return byNode
		}
	}
	if loc.zone == "" || slices.ContainsFunc(list, func(e endpoint) bool { return len(e.zones) == 0 }) {
		return list
	}
	if byZone := filter(list, func(e endpoint) bool { return slices.Contains(e.zones, loc.zone) }); len(byZone) > 0 {
		return byZone
	}
	return list
}

func addresses(list []endpoint) []netip.AddrPort {
	out := make([]netip.AddrPort, len(list))
	for i, e := range list {
		out[i] = e.addr
	}
	return out
}

func filter(list []endpoint, keep func(endpoint) bool) (out []endpoint) {
	for _, e := range list {
		if keep(e) {
			out = append(out, e)
		}
	}
	return out
}

// deref returns *p, or defaultValue if p is nil.
func deref[T any](p *T, defaultValue T) T {
	if p == nil {
		return defaultValue
	}
	return *p
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
