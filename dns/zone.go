package dns

import (
	"net/netip"
	"strings"

	"github.com/miekg/dns"
)

const (
	// ttl is the time to live of all records of the zone, in seconds.
	ttl = 5
	// specVersion is the version of the DNS specification.
	specVersion = "1.1.0"
	// ServiceName is the name of the Service of the cluster's DNS server in kube-system.
	ServiceName, serviceNamespace = "kube-dns", "kube-system"
)

// zone answers queries for the cluster's domain.
type zone struct {
	store  *store
	domain string // such as "cluster.local.", in lower case
}

// result is the answer to a query.
type result struct {
	rcode          int
	answers, extra []dns.RR
	// alias is the target of the last CNAME, if it has to be followed.
	alias string
}

// notFound is the result for a name that does not exist.
var notFound = result{rcode: dns.RcodeNameError}

// contains reports whether the name, in lower case, belongs to the domain.
func (z *zone) contains(name string) bool {
	return name == z.domain || strings.HasSuffix(name, "."+z.domain)
}

// resolve answers a query for a name of the domain. owner is the name as the client wrote it.
func (z *zone) resolve(owner string, kind uint16) result {
	name := strings.ToLower(owner)
	relative := strings.TrimSuffix(strings.TrimSuffix(name, z.domain), ".")
	if relative == "" {
		return z.apex(owner, kind)
	}
	labels := strings.Split(relative, ".")
	n := len(labels)
	switch last := labels[n-1]; {
	case relative == "dns-version":
		if kind == dns.TypeTXT {
			return result{answers: []dns.RR{&dns.TXT{Hdr: header(owner, dns.TypeTXT), Txt: []string{specVersion}}}}
		}
		return result{}
	case relative == "ns.dns":
		return result{answers: z.nameServer(owner, kind)}
	case relative == "dns", n == 1 && (last == "svc" || last == "pod"):
		return result{}
	case n == 2 && (last == "svc" || last == "pod"):
		if z.store.hasNamespace(labels[0]) {
			return result{}
		}
	case last == "svc":
		return z.service(owner, kind, labels[:n-3], labels[n-3], labels[n-2])
	case last == "pod" && n == 3:
		return z.pod(owner, kind, labels[0], labels[1])
	}
	return notFound
}

// apex answers queries for the domain itself.
func (z *zone) apex(owner string, kind uint16) result {
	switch kind {
	case dns.TypeSOA:
		return result{answers: []dns.RR{z.soa()}}
	case dns.TypeNS:
		ns := "ns.dns." + z.domain
		return result{answers: []dns.RR{&dns.NS{Hdr: header(owner, dns.TypeNS), Ns: ns}}, extra: append(z.nameServer(ns, dns.TypeA), z.nameServer(ns, dns.TypeAAAA)...)}
	}
	return result{}
}

// nameServer returns the addresses of the server's Service.
func (z *zone) nameServer(owner string, kind uint16) (out []dns.RR) {
	s := z.store.service(serviceNamespace, ServiceName)
	if s == nil {
		return nil
	}
	for _, text := range s.Spec.ClusterIPs {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, addressRecord(owner, kind, a)...)
		}
	}
	return out
}

// soa returns the SOA record, which negative answers contain.
func (z *zone) soa() dns.RR {
	return &dns.SOA{Hdr: header(z.domain, dns.TypeSOA), Ns: "ns.dns." + z.domain, Mbox: "hostmaster." + z.domain, Serial: 1, Refresh: 7200, Retry: 1800, Expire: 86400, Minttl: ttl}
}

// pod answers queries for a pod's address with dashes, such as 10-1-2-3.
func (z *zone) pod(owner string, kind uint16, dashed, namespace string) result {
	a, ok := parseDashed(dashed)
	if !ok || !z.store.hasPod(namespace, a) {
		return notFound
	}
	return result{answers: addressRecord(owner, kind, a)}
}

// parseDashed parses an address whose separators are dashes.
func parseDashed(text string) (netip.Addr, bool) {
	separator := ":"
	if strings.Count(text, "-") == 3 && !strings.Contains(text, "--") {
		separator = "."
	}
	a, err := netip.ParseAddr(strings.ReplaceAll(text, "-", separator))
	return a, err == nil
}

// formatDashed is the inverse of parseDashed.
func formatDashed(a netip.Addr) string {
	return strings.NewReplacer(".", "-", ":", "-").Replace(a.String())
}

func header(owner string, kind uint16) dns.RR_Header {
	return dns.RR_Header{Name: owner, Rrtype: kind, Class: dns.ClassINET, Ttl: ttl}
}

// addressRecord returns the A or AAAA record of the address, or nothing if the query is for another type.
func addressRecord(owner string, kind uint16, a netip.Addr) []dns.RR {
	switch {
	case a.Is4() && (kind == dns.TypeA || kind == dns.TypeANY):
		return []dns.RR{&dns.A{Hdr: header(owner, dns.TypeA), A: a.AsSlice()}}
	case a.Is6() && (kind == dns.TypeAAAA || kind == dns.TypeANY):
		return []dns.RR{&dns.AAAA{Hdr: header(owner, dns.TypeAAAA), AAAA: a.AsSlice()}}
	}
	return nil
}
