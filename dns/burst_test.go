package dns

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// TestBurst checks that queries that arrive while the server does not run are answered. They exceed a buffer of the
// kernel's default size, and fit in one of the largest size that the kernel allows by default.
func TestBurst(t *testing.T) {
	l, err := listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	query, err := new(dns.Msg).SetQuestion("web.shop.svc.cluster.local.", dns.TypeA).Pack()
	if err != nil {
		t.Fatal(err)
	}
	const queries = 200 // less than the limit of a client
	var clients []*net.UDPConn
	for i := range 2 {
		conn, err := net.DialUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, byte(2+i))}, net.UDPAddrFromAddrPort(l.Address()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		for range queries {
			if _, err := conn.Write(query); err != nil {
				t.Fatal(err)
			}
		}
		clients = append(clients, conn)
	}
	s, serveErr := testServer(t, "/nonexistent"), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { serveErr <- s.Serve(ctx, l) }()
	defer func() {
		cancel()
		if err := <-serveErr; err != nil {
			t.Error(err)
		}
	}()
	buffer := make([]byte, dns.MaxMsgSize)
	for i, conn := range clients {
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		for n := range queries {
			if _, err := conn.Read(buffer); err != nil {
				t.Fatalf("client %d: answer %d of %d: %v", i, n, queries, err)
			}
		}
	}
}
