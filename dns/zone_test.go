package dns

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
)

// objects returns a Service of each kind, with namespaces, endpoints, pods and a node.
func objects() []runtime.Object {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }
	service := func(name string, spec corev1.ServiceSpec) *corev1.Service {
		return &corev1.Service{ObjectMeta: meta(name), Spec: spec}
	}
	name, tcp, port := "http", corev1.ProtocolTCP, int32(8080)
	notReady, hostname := false, "db-0"
	slice := func(service string, family discoveryv1.AddressType, eps ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
		m := meta(service + "-" + strings.ToLower(string(family)))
		m.Labels = map[string]string{discoveryv1.LabelServiceName: service}
		return &discoveryv1.EndpointSlice{ObjectMeta: m, AddressType: family, Endpoints: eps, Ports: []discoveryv1.EndpointPort{{Name: &name, Protocol: &tcp, Port: &port}}}
	}
	ports := []corev1.ServicePort{{Name: "http", Protocol: tcp, Port: 80}}
	return []runtime.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
		service("web", corev1.ServiceSpec{ClusterIP: "10.96.0.7", ClusterIPs: []string{"10.96.0.7", "fd00::7"}, Ports: ports}),
		service("db", corev1.ServiceSpec{ClusterIP: "None", ClusterIPs: []string{"None"}, Ports: ports}),
		service("unready", corev1.ServiceSpec{ClusterIP: "None", ClusterIPs: []string{"None"}, Ports: ports}),
		service("alias", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "web.shop.svc.cluster.local"}),
		service("loop", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "loop.shop.svc.cluster.local"}),
		service("external", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"}),
		slice("db", discoveryv1.AddressTypeIPv4, discoveryv1.Endpoint{Addresses: []string{"10.1.0.1"}, Hostname: &hostname},
			discoveryv1.Endpoint{Addresses: []string{"10.1.0.2"}}, discoveryv1.Endpoint{Addresses: []string{"10.1.0.3"}, Conditions: discoveryv1.EndpointConditions{Ready: &notReady}}),
		slice("db", discoveryv1.AddressTypeIPv6, discoveryv1.Endpoint{Addresses: []string{"fd01::1"}, Hostname: &hostname}),
		slice("unready", discoveryv1.AddressTypeIPv4, discoveryv1.Endpoint{Addresses: []string{"10.1.0.3"}, Conditions: discoveryv1.EndpointConditions{Ready: &notReady}}),
		slice("web", discoveryv1.AddressTypeIPv4, discoveryv1.Endpoint{Addresses: []string{"10.1.0.9"}}),
		&corev1.Pod{ObjectMeta: meta("p"), Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "10.1.0.9"}, {IP: "fd01::9"}}}},
		&corev1.Pod{ObjectMeta: meta("terminated"), Status: corev1.PodStatus{Phase: corev1.PodSucceeded, PodIPs: []corev1.PodIP{{IP: "10.1.0.8"}}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "203.0.113.9"}}}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: serviceNamespace, Name: ServiceName}, Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.10", ClusterIPs: []string{"10.96.0.10"}}},
	}
}

// testServer returns a server for objects.
func testServer(t *testing.T, resolvConf string) *Server {
	t.Helper()
	s, err := NewServer(t.Context(), Options{Client: fake.NewClientset(objects()...), Domain: "Cluster.Local", ResolvConf: resolvConf, Log: klog.Background()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// summary returns the data of records, sorted.
func summary(records []dns.RR) string {
	var out []string
	for _, r := range records {
		out = append(out, strings.TrimSpace(strings.TrimPrefix(r.String(), r.Header().String())))
	}
	slices.Sort(out)
	return strings.Join(out, " | ")
}

// TestSpecification checks that the answers follow the Kubernetes DNS specification.
func TestSpecification(t *testing.T) {
	h := testServer(t, "/nonexistent").handler
	const nx, none = "NXDOMAIN", ""
	for _, tc := range []struct{ query, want string }{
		{"dns-version.cluster.local TXT", `"1.1.0"`},
		{"web.shop.svc.cluster.local A", "10.96.0.7"},
		{"WEB.Shop.svc.CLUSTER.local A", "10.96.0.7"},
		{"web.shop.svc.cluster.local AAAA", "fd00::7"},
		{"web.shop.svc.cluster.local MX", none},
		{"_http._tcp.web.shop.svc.cluster.local SRV", "0 100 80 web.shop.svc.cluster.local."},
		{"_http._udp.web.shop.svc.cluster.local SRV", nx},
		{"_other._tcp.web.shop.svc.cluster.local SRV", nx},
		{"db.shop.svc.cluster.local A", "10.1.0.1 | 10.1.0.2"},
		{"db.shop.svc.cluster.local AAAA", "fd01::1"},
		{"db-0.db.shop.svc.cluster.local A", "10.1.0.1"},
		{"10-1-0-2.db.shop.svc.cluster.local A", "10.1.0.2"},
		{"10-1-0-3.db.shop.svc.cluster.local A", nx},
		{"_http._tcp.db.shop.svc.cluster.local SRV", "0 100 8080 10-1-0-2.db.shop.svc.cluster.local. | 0 100 8080 db-0.db.shop.svc.cluster.local."},
		{"unready.shop.svc.cluster.local A", nx},
		{"10-1-0-9.web.shop.svc.cluster.local A", "10.1.0.9"},
		{"alias.shop.svc.cluster.local CNAME", "web.shop.svc.cluster.local."},
		{"alias.shop.svc.cluster.local A", "10.96.0.7 | web.shop.svc.cluster.local."},
		{"10-1-0-9.shop.pod.cluster.local A", "10.1.0.9"},
		{"fd01--9.shop.pod.cluster.local AAAA", "fd01::9"},
		{"10-1-0-9.other.pod.cluster.local A", nx},
		{"10-1-0-8.shop.pod.cluster.local A", nx},
		{"10-9-9-9.shop.pod.cluster.local A", nx},
		{"shop.svc.cluster.local A", none},
		{"other.svc.cluster.local A", nx},
		{"svc.cluster.local A", none},
		{"web.other.svc.cluster.local A", nx},
		{"nosuch.shop.svc.cluster.local A", nx},
		{"a.b.c.web.shop.svc.cluster.local A", nx},
		{"nosuch.cluster.local A", nx},
		{"cluster.local NS", "ns.dns.cluster.local."},
		{"ns.dns.cluster.local A", "10.96.0.10"},
		{"7.0.96.10.in-addr.arpa PTR", "web.shop.svc.cluster.local."},
		{"1.0.1.10.in-addr.arpa PTR", "db-0.db.shop.svc.cluster.local."},
		{"7.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa PTR", "web.shop.svc.cluster.local."},
	} {
		name, qtype, _ := strings.Cut(tc.query, " ")
		m := new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.StringToType[qtype])
		reply := h.answer(m, carrierGradeNAT.Addr(), "udp")
		got := summary(reply.Answer)
		if reply.Rcode != dns.RcodeSuccess {
			got = dns.RcodeToString[reply.Rcode]
		}
		if got != tc.want || !reply.Authoritative {
			t.Errorf("%s: %q, authoritative %v, want %q", tc.query, got, reply.Authoritative, tc.want)
		}
		if negative := got == nx || got == none; negative != (len(reply.Ns) == 1 && reply.Ns[0].Header().Rrtype == dns.TypeSOA) {
			t.Errorf("%s: authority section %v, want an SOA record only in negative answers", tc.query, reply.Ns)
		}
		for _, r := range reply.Answer {
			if r.Header().Ttl != ttl {
				t.Errorf("%s: TTL %d, want %d", tc.query, r.Header().Ttl, ttl)
			}
		}
	}
}

// TestAdditionalSection checks that SRV answers contain the addresses of their targets.
func TestAdditionalSection(t *testing.T) {
	h := testServer(t, "/nonexistent").handler
	m := new(dns.Msg).SetQuestion("_http._tcp.db.shop.svc.cluster.local.", dns.TypeSRV)
	if got, want := summary(h.answer(m, carrierGradeNAT.Addr(), "udp").Extra), "10.1.0.1 | 10.1.0.2 | fd01::1"; got != want {
		t.Errorf("additional section %q, want %q", got, want)
	}
}

// TestOwnAddress checks which addresses are this machine's. It may have no route to others.
func TestOwnAddress(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1": true, "::ffff:127.0.0.1": true, "203.0.113.8": false, "2001:db8::8": false} {
		if got := isOwnAddress(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %v, want %v", address, got, want)
		}
	}
}

// TestRefusals checks the response codes of queries of public clients and of queries that the server
// cannot answer.
func TestRefusals(t *testing.T) {
	h := testServer(t, "/nonexistent").handler
	question := func(change func(*dns.Msg)) *dns.Msg {
		m := new(dns.Msg).SetQuestion("web.shop.svc.cluster.local.", dns.TypeA)
		change(m)
		return m
	}
	for name, tc := range map[string]struct {
		from   string
		change func(*dns.Msg)
		want   int
	}{
		"public client":   {"203.0.113.8", func(*dns.Msg) {}, dns.RcodeRefused},
		"node's address":  {"203.0.113.9", func(*dns.Msg) {}, dns.RcodeSuccess},
		"private client":  {"192.168.1.1", func(*dns.Msg) {}, dns.RcodeSuccess},
		"zone transfer":   {"10.0.0.1", func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeAXFR }, dns.RcodeRefused},
		"class CHAOS":     {"10.0.0.1", func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS }, dns.RcodeRefused},
		"no question":     {"10.0.0.1", func(m *dns.Msg) { m.Question = nil }, dns.RcodeFormatError},
		"update":          {"10.0.0.1", func(m *dns.Msg) { m.Opcode = dns.OpcodeUpdate }, dns.RcodeNotImplemented},
		"alias to itself": {"10.0.0.1", func(m *dns.Msg) { m.Question[0].Name = "loop.shop.svc.cluster.local." }, dns.RcodeSuccess},
		"no name server":  {"10.0.0.1", func(m *dns.Msg) { m.Question[0].Name = "example.com." }, dns.RcodeServerFailure},
	} {
		if got := h.answer(question(tc.change), netip.MustParseAddr(tc.from), "udp"); got.Rcode != tc.want || len(got.Answer) > maxAliases+1 {
			t.Errorf("%s: %s, want %s", name, dns.RcodeToString[got.Rcode], dns.RcodeToString[tc.want])
		}
	}
}
