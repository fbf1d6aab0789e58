package dns

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// serve starts the server at a loopback address and returns the address.
func serve(t *testing.T, s *Server) string {
	t.Helper()
	l, err := listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	serveErr := make(chan error, 1)
	go func() { serveErr <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-serveErr; err != nil {
			t.Error(err)
		}
	})
	return l.Address().String()
}

// upstream starts a name server with a handler of all queries and returns its port.
func upstream(t *testing.T, handler dns.HandlerFunc) string {
	t.Helper()
	l, err := listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*dns.Server{{PacketConn: l.udp, Handler: handler}, {Listener: l.tcp, Handler: handler}} {
		go func() { _ = s.ActivateAndServe() }()
		t.Cleanup(func() { _ = s.Shutdown() })
	}
	return fmt.Sprint(l.Address().Port())
}

// resolvConf creates a resolv.conf and returns its path.
func resolvConf(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// exchange sends a query and returns the reply.
func exchange(t *testing.T, network, address, name string, qtype uint16, change func(*dns.Msg)) *dns.Msg {
	t.Helper()
	m := new(dns.Msg).SetQuestion(name, qtype)
	if change != nil {
		change(m)
	}
	c := dns.Client{Net: network, UDPSize: dns.MaxMsgSize}
	reply, _, err := c.Exchange(m, address)
	if err != nil {
		t.Fatalf("%s %s: %v", network, name, err)
	}
	return reply
}

// TestForwarding checks that queries for names outside the domain, and for aliases to them, are
// forwarded over the client's protocol.
func TestForwarding(t *testing.T) {
	port := upstream(t, func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60}, A: net.IPv4(192, 0, 2, 1)}}
		if w.LocalAddr().Network() == "tcp" {
			m.Answer[0].(*dns.A).A = net.IPv4(192, 0, 2, 2)
		}
		_ = w.WriteMsg(m)
	})
	s := testServer(t, resolvConf(t, "# comment\nsearch x\nnameserver 127.0.0.1\nnameserver bad\n"))
	s.handler.forward.port = port
	address := serve(t, s)
	for network, want := range map[string]string{"udp": "192.0.2.1", "tcp": "192.0.2.2"} {
		if got := summary(exchange(t, network, address, "example.com.", dns.TypeA, nil).Answer); got != want {
			t.Errorf("%s: %q, want %q", network, got, want)
		}
		if got := summary(exchange(t, network, address, "external.shop.svc.cluster.local.", dns.TypeA, nil).Answer); got != want+" | example.com." {
			t.Errorf("alias over %s: %q, want %s and the CNAME", network, got, want)
		}
	}
	if got := summary(exchange(t, "udp", address, "1.2.0.192.in-addr.arpa.", dns.TypePTR, nil).Answer); got != "192.0.2.1" {
		t.Errorf("PTR of an address outside of the cluster: %q, want 192.0.2.1 from the name server", got)
	}
}

// TestForwardingLoop checks that the forwarder uses neither its own address nor a name server that
// forwards to cluster DNS.
func TestForwardingLoop(t *testing.T) {
	var clusterDNS atomic.Value // its address
	var queries atomic.Int32
	port := upstream(t, func(w dns.ResponseWriter, q *dns.Msg) {
		queries.Add(1)
		reply, _, err := new(dns.Client).Exchange(q, clusterDNS.Load().(string))
		if err != nil {
			reply = new(dns.Msg).SetRcode(q, dns.RcodeServerFailure)
		}
		_ = w.WriteMsg(reply)
	})
	s := testServer(t, resolvConf(t, "nameserver 127.0.0.1\nnameserver 127.0.0.2\n"))
	f := s.handler.forward
	f.port = port
	f.isOwn = func(a netip.AddrPort) bool { return a.Addr() == netip.MustParseAddr("127.0.0.2") }
	clusterDNS.Store(serve(t, s))
	if got := f.upstreams(); len(got) != 1 {
		t.Fatalf("name servers %v, want all except the server's own address", got)
	}
	for len(f.upstreams()) > 0 { // until the probe arrives
		_ = exchange(t, "udp", clusterDNS.Load().(string), "web.shop.svc.cluster.local.", dns.TypeA, nil)
	}
	before := queries.Load()
	if got := exchange(t, "udp", clusterDNS.Load().(string), "example.com.", dns.TypeA, nil); got.Rcode != dns.RcodeServerFailure || queries.Load() != before {
		t.Errorf("%s after %d more queries to the looping name server, want SERVFAIL after 0", dns.RcodeToString[got.Rcode], queries.Load()-before)
	}
}

// TestTruncation checks that large answers are truncated over UDP according to EDNS, and complete over
// TCP.
func TestTruncation(t *testing.T) {
	name, port, tcp := "http", int32(80), corev1.ProtocolTCP
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "many", Labels: map[string]string{discoveryv1.LabelServiceName: "db"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &tcp}}}
	for i := range 200 {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{netip.AddrFrom4([4]byte{10, 2, 0, byte(i)}).String()}})
	}
	s, err := NewServer(t.Context(), Options{Client: fake.NewClientset(append(objects(), slice)...), Domain: "cluster.local", ResolvConf: "/nonexistent"})
	if err != nil {
		t.Fatal(err)
	}
	address := serve(t, s)
	const query = "db.shop.svc.cluster.local."
	for size, limit := range map[uint16]int{0: 512, 700: 700, 4096: maxUDPSize} {
		reply := exchange(t, "udp", address, query, dns.TypeA, func(m *dns.Msg) {
			if size > 0 {
				m.SetEdns0(size, false)
			}
		})
		reply.Compress = true // as on the wire
		if n := reply.Len(); n > limit || n < limit-100 || !reply.Truncated || (reply.IsEdns0() != nil) != (size > 0) {
			t.Errorf("EDNS size %d: %d bytes, truncated %v, OPT %v, want about %d bytes, truncated", size, n, reply.Truncated, reply.IsEdns0(), limit)
		}
	}
	if reply := exchange(t, "tcp", address, query, dns.TypeA, nil); len(reply.Answer) != 202 || reply.Truncated {
		t.Errorf("TCP: %d answers, truncated %v, want 202, complete", len(reply.Answer), reply.Truncated)
	}
	if reply := exchange(t, "udp", address, query, dns.TypeA, func(m *dns.Msg) { m.SetEdns0(4096, false); m.IsEdns0().SetVersion(1) }); reply.Rcode != dns.RcodeBadVers {
		t.Errorf("EDNS version 1: %s, want BADVERS", dns.RcodeToString[reply.Rcode])
	}
}

// TestLimits checks that one client cannot exhaust the queries and connections of all clients.
func TestLimits(t *testing.T) {
	l := newLimiter(3, 2)
	a, b, c := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")
	var started []bool
	for _, client := range []netip.Addr{a, a, a, b, c} {
		started = append(started, l.start(client))
	}
	if want := []bool{true, true, false, true, false}; !slices.Equal(started, want) {
		t.Errorf("started %v, want %v", started, want)
	}
	for _, client := range []netip.Addr{a, a, b} {
		l.end(client)
	}
	if l.inProgress != 0 || len(l.active) != 0 || !l.start(c) {
		t.Errorf("after the ends: %d in progress, %v, want 0, and a new start", l.inProgress, l.active)
	}
	// A client at its limit of TCP connections gets no further one; other clients do.
	s := testServer(t, "/nonexistent")
	address := serve(t, s)
	for range maxConnectionsPerClient {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	otherClient := dns.Client{Net: "tcp", Dialer: &dialer}
	if _, _, err := otherClient.Exchange(new(dns.Msg).SetQuestion("web.shop.svc.cluster.local.", dns.TypeA), address); err != nil {
		t.Errorf("query of another client: %v, want no error", err)
	}
	if _, _, err := (&dns.Client{Net: "tcp"}).Exchange(new(dns.Msg).SetQuestion("web.shop.svc.cluster.local.", dns.TypeA), address); err == nil {
		t.Error("query over a connection above the limit succeeded, want an error")
	}
}

// TestRegister checks that the Service is created once and gets a new IP with another range of cluster IPs. If it
// belongs to another server, it is neither changed nor removed. It also checks that Publish replaces the endpoint.
func TestRegister(t *testing.T) {
	client := fake.NewClientset()
	ctx := t.Context()
	for _, ip := range []string{"10.96.0.10", "10.96.0.10", "10.97.0.10"} {
		if err := Register(ctx, client, netip.MustParseAddr(ip)); err != nil {
			t.Fatal(err)
		}
		s, err := client.CoreV1().Services(serviceNamespace).Get(ctx, ServiceName, metav1.GetOptions{})
		if err != nil || s.Spec.ClusterIP != ip {
			t.Errorf("cluster IP of the Service: %s, %v, want %s", s.Spec.ClusterIP, err, ip)
		}
	}
	for _, address := range []string{"192.0.2.1:10053", "192.0.2.2:10054", "[2001:db8::1]:10053"} {
		if err := Publish(ctx, client, netip.MustParseAddrPort(address)); err != nil {
			t.Fatal(err)
		}
		s, err := client.DiscoveryV1().EndpointSlices(serviceNamespace).Get(ctx, sliceName, metav1.GetOptions{})
		if err != nil || !strings.Contains(address, s.Endpoints[0].Addresses[0]) || len(s.Ports) != 2 {
			t.Errorf("EndpointSlice for %s: %v, %v, want the address and 2 ports", address, s, err)
		}
	}
	if err := Unregister(ctx, client); err != nil {
		t.Fatal(err)
	}
	existing := newService(netip.MustParseAddr("10.96.0.99"))
	existing.Labels = nil
	if _, err := client.CoreV1().Services(serviceNamespace).Create(ctx, existing, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err := Register(ctx, client, netip.MustParseAddr("10.96.0.10"))
	if other, ok := err.(*OtherServerError); !ok || other.ClusterIP != "10.96.0.99" {
		t.Errorf("Register next to another server: %v, want an OtherServerError with 10.96.0.99", err)
	}
	if err := Unregister(ctx, client); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Services(serviceNamespace).Get(ctx, ServiceName, metav1.GetOptions{}); err != nil {
		t.Errorf("reading the other server's Service after Unregister: %v, want no error", err)
	}
}
