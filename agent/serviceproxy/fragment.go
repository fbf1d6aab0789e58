//go:build linux

package serviceproxy

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// element is an element of a set or map. The key is in the kernel's encoding.
type element struct{ set, key string }

// fragment is the part of a table that one Service needs.
type fragment struct {
	chains   map[string][]rule
	elements map[element]string // value: the chain, the endpoint in endpointMap, "" in sets
	// external has the elements of external IPs. A cluster IP of another Service has precedence.
	external map[element]bool
	affinity map[string]bool // names of affinity maps
	udp      []udpPort
	routed   map[netip.Addr]bool // endpoints that get new connections
}

// udpPort is an address at which a UDP port of a Service is reached, and its endpoints.
// An invalid address stands for all addresses of this machine (a node port).
type udpPort struct {
	addr      netip.Addr
	port      uint16
	endpoints []netip.AddrPort
}

func emptyFragment() *fragment {
	return &fragment{chains: map[string][]rule{}, elements: map[element]string{}, external: map[element]bool{}, affinity: map[string]bool{}, routed: map[netip.Addr]bool{}}
}

// protocols maps the protocols of Services to those of IP.
var protocols = map[corev1.Protocol]uint8{corev1.ProtocolTCP: unix.IPPROTO_TCP, corev1.ProtocolUDP: unix.IPPROTO_UDP, corev1.ProtocolSCTP: unix.IPPROTO_SCTP}

// newFragment returns the rules of a Service in one IP family.
func newFragment(s *corev1.Service, list []*discoveryv1.EndpointSlice, family discoveryv1.AddressType, loc location) *fragment {
	f := emptyFragment()
	ip4 := family == discoveryv1.AddressTypeIPv4
	clusterIP := addressOf(s.Spec.ClusterIPs, s.Spec.ClusterIP, ip4)
	if !clusterIP.IsValid() || s.Spec.Type == corev1.ServiceTypeExternalName {
		return f
	}
	f.elements[element{clusterIPSet, string(clusterIP.AsSlice())}] = ""
	byPort := endpointsByPort(list, family, loc)
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		protocol, ok := protocols[p.Protocol]
		if !ok {
			continue
		}
		b := portBuilder{fragment: f, service: s, port: p, protocol: protocol, name: fmt.Sprintf("%s/%s/%s/%d", s.Namespace, s.Name, strings.ToLower(string(p.Protocol)), p.Port)}
		eps := byPort[portKey{p.Name, string(p.Protocol)}]
		b.cluster, b.local, b.sources = clusterEndpoints(eps, loc), localEndpoints(eps), podSources(eps, loc, ip4)
		b.build(clusterIP, ip4)
		for _, e := range eps {
			a := e.addr.Addr().AsSlice()
			f.elements[element{hairpinSet, string(a) + string(a)}] = ""
		}
	}
	return f
}

// addressOf returns the first address of the family in list and fallback, or an invalid one.
func addressOf(list []string, fallback string, ip4 bool) netip.Addr {
	for _, text := range append(slices.Clone(list), fallback) {
		if a, err := netip.ParseAddr(text); err == nil && a.Is4() == ip4 {
			return a
		}
	}
	return netip.Addr{}
}

// portBuilder adds a port of a Service to a fragment.
type portBuilder struct {
	*fragment
	service        *corev1.Service
	port           *corev1.ServicePort
	protocol       uint8
	name           string
	cluster, local []netip.AddrPort
	sources        []podSource
}

// podSource is a node of this machine as a source of packets.
type podSource struct {
	prefixes []netip.Prefix   // of its pods
	local    []netip.AddrPort // endpoints on the node
}

// podSources returns the nodes of this machine, sorted by name, if there are several. The kernel cannot assign packets
// of the machine itself to one of them.
func podSources(list []endpoint, loc location, ip4 bool) (sources []podSource) {
	for _, node := range slices.Sorted(maps.Keys(loc.podCIDRs)) {
		prefixes := slices.DeleteFunc(slices.Clone(loc.podCIDRs[node]), func(p netip.Prefix) bool { return p.Addr().Is4() != ip4 })
		if len(prefixes) > 0 {
			sources = append(sources, podSource{withoutOverlaps(prefixes), nodeEndpoints(list, node)})
		}
	}
	return sources
}

// build adds the chains and the elements of the port.
func (b *portBuilder) build(clusterIP netip.Addr, ip4 bool) {
	s := b.service
	internal := b.addDistribution("cluster", b.cluster)
	endpoints := b.cluster
	if deref(s.Spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster) == corev1.ServiceInternalTrafficPolicyLocal {
		internal, endpoints = b.addNodeDistribution(), b.local
	}
	b.add(clusterIP, internal, false, endpoints)

	externals := externalAddresses(s, ip4)
	balancers := loadBalancerAddresses(s, ip4)
	if len(externals)+len(balancers) == 0 && b.port.NodePort == 0 {
		return
	}
	endpoints = b.cluster
	if s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		endpoints = b.local
	}
	entry := b.addExternalEntry()
	for _, a := range externals {
		b.add(a, entry, true, endpoints)
	}
	for _, a := range balancers {
		b.add(a, b.restrictSources(entry, ip4), true, endpoints)
	}
	if b.port.NodePort != 0 {
		b.elements[element{nodePortMap, nodePortKey(b.protocol, uint16(b.port.NodePort))}] = entry
		b.addUDP(netip.Addr{}, uint16(b.port.NodePort), endpoints)
	}
}

// add adds an address of the Service with the chain that handles it.
func (b *portBuilder) add(a netip.Addr, chain string, external bool, endpoints []netip.AddrPort) {
	e := element{serviceIPMap, serviceIPKey(a, b.protocol, uint16(b.port.Port))}
	if _, exists := b.elements[e]; exists {
		return
	}
	b.elements[e] = chain
	if external {
		b.external[e] = true
	}
	b.addUDP(a, uint16(b.port.Port), endpoints)
}

// addUDP records the endpoints of an address if the port uses UDP.
func (b *portBuilder) addUDP(a netip.Addr, port uint16, endpoints []netip.AddrPort) {
	if b.protocol == unix.IPPROTO_UDP {
		b.udp = append(b.udp, udpPort{a, port, endpoints})
	}
}

// addDistribution adds a chain that chooses one of the endpoints, and returns its name. Without endpoints
// it returns rejectChain.
func (b *portBuilder) addDistribution(kind string, endpoints []netip.AddrPort) string {
	if len(endpoints) == 0 {
		return rejectChain
	}
	name := kind + "-" + b.name
	if _, exists := b.chains[name]; exists {
		return name
	}
	for i, e := range endpoints {
		b.routed[e.Addr()] = true
		b.elements[element{endpointMap, endpointKey(name, i)}] = encodeEndpoint(e)
	}
	distribute := rule{action: actDistribute, chain: name, count: len(endpoints)}
	if b.service.Spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		b.chains[name] = []rule{distribute}
		return name
	}
	for _, e := range endpoints {
		b.elements[element{memberSet, chainID(name) + encodeEndpoint(e)}] = ""
	}
	m := "clients-" + name
	b.affinity[m] = true
	timeout := affinityTimeout(b.service)
	// If the map is full, the second rule does not apply, and the client has no affinity.
	b.chains[name] = []rule{{action: actReuse, chain: name, affinity: m, timeout: timeout}, {action: actRemember, chain: name, count: len(endpoints), affinity: m, timeout: timeout}, distribute}
	return name
}

// addLocalDistribution returns the name of the chain for the policy Local. If only other machines have endpoints, the
// chain drops packets, so that the client tries another node.
func (b *portBuilder) addLocalDistribution() string { return b.addDistributionOrDrop("local", b.local) }

// addDistributionOrDrop is addDistribution, but returns dropChain if endpoints is empty and the Service has
// endpoints elsewhere in the cluster.
func (b *portBuilder) addDistributionOrDrop(kind string, endpoints []netip.AddrPort) string {
	if len(endpoints) == 0 && len(b.cluster) > 0 {
		return dropChain
	}
	return b.addDistribution(kind, endpoints)
}

// addNodeDistribution returns the name of the chain for the internal policy Local. If several nodes run on this machine,
// the chain sends packets of a pod to the endpoints on its node. It sends packets of the machine to those of all nodes.
func (b *portBuilder) addNodeDistribution() string {
	local := b.addLocalDistribution()
	if len(b.sources) == 0 || local == rejectChain {
		return local
	}
	name := "nodes-" + b.name
	var rules []rule
	for i, s := range b.sources {
		rules = append(rules, rule{action: actGotoFrom, prefixes: s.prefixes, chain: b.addDistributionOrDrop(fmt.Sprintf("node%d", i), s.local)})
	}
	b.chains[name] = append(rules, rule{action: actGoto, chain: local})
	return name
}

// addExternalEntry adds the chain for node ports and external addresses, and returns its name.
func (b *portBuilder) addExternalEntry() string {
	cluster := b.addDistribution("cluster", b.cluster)
	if cluster == rejectChain {
		return rejectChain
	}
	name := "external-" + b.name
	if b.service.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		b.chains[name] = []rule{{action: actMasquerade}, {action: actGoto, chain: cluster}}
		return name
	}
	// Clients in the cluster reach all endpoints. Others reach the local ones and keep their address.
	b.chains[name] = []rule{{action: actGotoFromPods, chain: cluster}, {action: actFromMachine, chain: cluster}, {action: actGoto, chain: b.addLocalDistribution()}}
	return name
}

// restrictSources adds a chain that admits only loadBalancerSourceRanges to entry, and returns its
// name. Without ranges it returns entry.
func (b *portBuilder) restrictSources(entry string, ip4 bool) string {
	if len(b.service.Spec.LoadBalancerSourceRanges) == 0 {
		return entry
	}
	var prefixes []netip.Prefix
	for _, text := range b.service.Spec.LoadBalancerSourceRanges {
		if p, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil && p.Addr().Is4() == ip4 {
			prefixes = append(prefixes, p.Masked())
		}
	}
	name := "sources-" + b.name
	b.chains[name] = []rule{{action: actDrop}}
	if prefixes = withoutOverlaps(prefixes); len(prefixes) > 0 {
		b.chains[name] = []rule{{action: actGotoFrom, prefixes: prefixes, chain: entry}, {action: actDrop}}
	}
	return name
}

// withoutOverlaps removes prefixes that other prefixes contain, because an interval set rejects overlaps.
func withoutOverlaps(list []netip.Prefix) (out []netip.Prefix) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b netip.Prefix) int {
		if a.Bits() != b.Bits() {
			return a.Bits() - b.Bits()
		}
		return a.Addr().Compare(b.Addr())
	})
	for _, p := range list {
		if !slices.ContainsFunc(out, func(q netip.Prefix) bool { return q.Overlaps(p) }) {
			out = append(out, p)
		}
	}
	return out
}

// affinityTimeout returns how long a client stays at an endpoint with the session affinity ClientIP.
func affinityTimeout(s *corev1.Service) time.Duration {
	if c := s.Spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil && *c.ClientIP.TimeoutSeconds > 0 {
		return time.Duration(*c.ClientIP.TimeoutSeconds) * time.Second
	}
	return time.Duration(corev1.DefaultClientIPServiceAffinitySeconds) * time.Second
}

// externalAddresses returns the Service's external IPs of a family, without invalid ones.
func externalAddresses(s *corev1.Service, ip4 bool) (out []netip.Addr) {
	for _, text := range s.Spec.ExternalIPs {
		if a, err := netip.ParseAddr(text); err == nil && a.Is4() == ip4 {
			out = append(out, a)
		}
	}
	return out
}

// loadBalancerAddresses returns the addresses at which packets of the load balancer arrive.
func loadBalancerAddresses(s *corev1.Service, ip4 bool) (out []netip.Addr) {
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return nil
	}
	for _, in := range s.Status.LoadBalancer.Ingress {
		if a, err := netip.ParseAddr(in.IP); err == nil && a.Is4() == ip4 && deref(in.IPMode, corev1.LoadBalancerIPModeVIP) == corev1.LoadBalancerIPModeVIP {
			out = append(out, a)
		}
	}
	return out
}

// serviceIPKey encodes a key of serviceIPMap. Each field is padded to 4 bytes.
func serviceIPKey(a netip.Addr, protocol uint8, port uint16) string {
	return string(append(a.AsSlice(), nodePortKey(protocol, port)...))
}

// chainIDLength is the length of a chain's identifier in keys, in bytes.
const chainIDLength = 12

// chainID returns the identifier of a chain in keys: a hash for which users cannot find collisions.
func chainID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return string(sum[:chainIDLength])
}

// endpointKey encodes a key of endpointMap. The number is in the machine's byte order, as the
// kernel's random numbers are.
func endpointKey(chain string, i int) string {
	return string(binary.NativeEndian.AppendUint32([]byte(chainID(chain)), uint32(i)))
}

// encodeEndpoint returns address and port, padded to 4 bytes each.
func encodeEndpoint(e netip.AddrPort) string {
	return string(append(binary.BigEndian.AppendUint16(e.Addr().AsSlice(), e.Port()), 0, 0))
}

// nodePortKey encodes a key of nodePortMap.
func nodePortKey(protocol uint8, port uint16) string {
	return string(binary.BigEndian.AppendUint16([]byte{protocol, 0, 0, 0}, port)) + "\x00\x00"
}
