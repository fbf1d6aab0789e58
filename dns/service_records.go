package dns

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// target is an address of a Service with its ports.
type target struct {
	address netip.Addr
	name    string // label below the name of the Service; "" for the Service itself
	ports   []port
}

// port is a port of a Service or an endpoint.
type port struct {
	name, protocol string // in lower case
	number         uint16
}

// service answers queries for a Service. prefix has the labels in front of its name: none, the
// name of an endpoint, or _port and _protocol.
func (z *zone) service(owner string, kind uint16, prefix []string, name, namespace string) result {
	s := z.store.service(namespace, name)
	if s == nil || !z.store.hasNamespace(namespace) {
		return notFound
	}
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return externalName(owner, kind, prefix, s)
	}
	headless := s.Spec.ClusterIP == corev1.ClusterIPNone || s.Spec.ClusterIP == ""
	var targets []target
	if headless || len(prefix) == 1 {
		targets = z.endpoints(namespace, name)
	} else {
		targets = clusterIPs(s)
	}
	var match func(port) bool
	switch {
	case len(prefix) == 0:
		match = func(p port) bool { return true }
	case len(prefix) == 1:
		targets = filter(targets, func(t target) bool { return t.name == prefix[0] || formatDashed(t.address) == prefix[0] })
		match = func(p port) bool { return true }
	case len(prefix) == 2 && strings.HasPrefix(prefix[0], "_") && strings.HasPrefix(prefix[1], "_"):
		match = func(p port) bool { return "_"+p.name == prefix[0] && "_"+p.protocol == prefix[1] }
		targets = filter(targets, func(t target) bool { return slices.ContainsFunc(t.ports, match) })
	default:
		return notFound
	}
	if len(targets) == 0 {
		return notFound // also a headless Service without ready endpoints
	}
	rand.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	if kind == dns.TypeSRV {
		return z.srv(owner, targets, match, name+"."+namespace+".svc."+z.domain)
	}
	var r result
	for _, t := range targets {
		r.answers = append(r.answers, addressRecord(owner, kind, t.address)...)
	}
	return r
}

// externalName answers with a CNAME that the server follows.
func externalName(owner string, kind uint16, prefix []string, s *corev1.Service) result {
	if len(prefix) > 0 || s.Spec.ExternalName == "" {
		return notFound
	}
	alias := dns.Fqdn(s.Spec.ExternalName)
	r := result{answers: []dns.RR{&dns.CNAME{Hdr: header(owner, dns.TypeCNAME), Target: alias}}}
	if kind != dns.TypeCNAME {
		r.alias = alias
	}
	return r
}

// clusterIPs returns the cluster IPs of a Service with its ports.
func clusterIPs(s *corev1.Service) (out []target) {
	var ports []port
	for _, p := range s.Spec.Ports {
		ports = append(ports, port{strings.ToLower(p.Name), strings.ToLower(string(p.Protocol)), uint16(p.Port)})
	}
	for _, text := range s.Spec.ClusterIPs {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, target{address: a, ports: ports})
		}
	}
	return out
}

// endpoints returns the ready endpoints of a Service. With publishNotReadyAddresses the
// EndpointSlices mark all endpoints as ready.
func (z *zone) endpoints(namespace, name string) (out []target) {
	index := map[netip.Addr]int{}
	for _, slice := range z.store.slicesOf(namespace, name) {
		if slice.AddressType == discoveryv1.AddressTypeFQDN {
			continue
		}
		var ports []port
		for _, p := range slice.Ports {
			if p.Port != nil && p.Protocol != nil {
				servicePort := port{protocol: strings.ToLower(string(*p.Protocol)), number: uint16(*p.Port)}
				if p.Name != nil {
					servicePort.name = strings.ToLower(*p.Name)
				}
				ports = append(ports, servicePort)
			}
		}
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			if e.Conditions.Ready != nil && !*e.Conditions.Ready {
				continue
			}
			for _, text := range e.Addresses {
				a, err := netip.ParseAddr(text)
				if err != nil {
					continue
				}
				if j, ok := index[a]; ok {
					out[j].ports = slices.Concat(out[j].ports, ports) // the targets of a slice share its ports
					continue
				}
				t := target{address: a, name: formatDashed(a), ports: ports}
				if e.Hostname != nil && *e.Hostname != "" {
					t.name = strings.ToLower(*e.Hostname)
				}
				index[a] = len(out)
				out = append(out, t)
			}
		}
	}
	return out
}

// srv returns an SRV record per target and port, and the addresses of the targets.
func (z *zone) srv(owner string, targets []target, match func(port) bool, service string) (r result) {
	type host struct {
		name string
		port uint16
	}
	seen := map[host]bool{}
	for _, t := range targets {
		name := service
		if t.name != "" {
			name = t.name + "." + service
		}
		for _, p := range t.ports {
			if match(p) && !seen[host{name, p.number}] {
				seen[host{name, p.number}] = true
				r.answers = append(r.answers, &dns.SRV{Hdr: header(owner, dns.TypeSRV), Priority: 0, Weight: 100, Port: p.number, Target: name})
			}
		}
		r.extra = append(r.extra, addressRecord(name, dns.TypeANY, t.address)...)
	}
	return r
}

// pointer returns the names of the Services with the address that a name of in-addr.arpa or ip6.arpa
// stands for. If no Service has it, it returns the names of the endpoints. ok is false if there are
// none.
func (z *zone) pointer(owner string) (r result, ok bool) {
	a, isReverse := parseReverse(owner)
	if !isReverse {
		return result{}, false
	}
	add := func(name string) {
		r.answers = append(r.answers, &dns.PTR{Hdr: header(owner, dns.TypePTR), Ptr: name})
	}
	for _, s := range list[*corev1.Service](z.store.services, byAddress, a.String()) {
		add(s.Name + "." + s.Namespace + ".svc." + z.domain)
	}
	if len(r.answers) > 0 {
		return r, true
	}
	for _, slice := range list[*discoveryv1.EndpointSlice](z.store.slices, byAddress, a.String()) {
		service := slice.Labels[discoveryv1.LabelServiceName]
		for _, t := range z.endpoints(slice.Namespace, service) {
			if t.address == a {
				add(t.name + "." + service + "." + slice.Namespace + ".svc." + z.domain)
			}
		}
	}
	return r, len(r.answers) > 0
}

// parseReverse parses a name of in-addr.arpa or ip6.arpa.
func parseReverse(owner string) (netip.Addr, bool) {
	name := strings.ToLower(owner)
	if labels, found := strings.CutSuffix(name, ".in-addr.arpa."); found {
		parts := strings.Split(labels, ".")
		if len(parts) != 4 {
			return netip.Addr{}, false
		}
		a, err := netip.ParseAddr(parts[3] + "." + parts[2] + "." + parts[1] + "." + parts[0])
		return a, err == nil
	}
	labels, found := strings.CutSuffix(name, ".ip6.arpa.")
	nibbles := strings.ReplaceAll(labels, ".", "")
	if !found || len(nibbles) != 32 || len(labels) != 63 {
		return netip.Addr{}, false
	}
	var b strings.Builder
	for i := range 32 {
		b.WriteByte(nibbles[31-i])
		if i%4 == 3 && i < 31 {
			b.WriteByte(':')
		}
	}
	a, err := netip.ParseAddr(b.String())
	return a, err == nil
}

func filter(targets []target, keep func(target) bool) (out []target) {
	for _, t := range targets {
		if keep(t) {
			out = append(out, t)
		}
	}
	return out
}
