package dns

import (
	"net"
	"net/netip"
	"sync"
)

// Limits of work in progress, in total and per client. Above a limit, the server drops queries, fails
// queries that it would forward, and closes connections.
const (
	maxQueries, maxQueriesPerClient         = 4096, 256
	maxForwarded, maxForwardedPerClient     = 1024, 64
	maxConnections, maxConnectionsPerClient = 1024, 32
)

// limiter bounds work in progress, in total and per client.
type limiter struct {
	total, perClient int // limits

	mu         sync.Mutex
	active     map[netip.Addr]int // number in progress by client
	inProgress int                // sum of active
}

func newLimiter(total, perClient int) *limiter {
	return &limiter{total: total, perClient: perClient, active: map[netip.Addr]int{}}
}

// start reports whether the client may start another query or connection. If so, the caller must
// call end.
func (l *limiter) start(client netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inProgress >= l.total || l.active[client] >= l.perClient {
		return false
	}
	l.inProgress++
	l.active[client]++
	return true
}

// end ends a query or connection.
func (l *limiter) end(client netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inProgress--
	if l.active[client]--; l.active[client] == 0 {
		delete(l.active, client)
	}
}

// limitedListener closes connections above the limit.
type limitedListener struct {
	net.Listener
	limit *limiter
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := addressOf(c.RemoteAddr())
		if l.limit.start(client) {
			return &limitedConn{Conn: c, end: sync.OnceFunc(func() { l.limit.end(client) })}, nil
		}
		_ = c.Close()
	}
}

// limitedConn is a connection that no longer counts when it is closed.
type limitedConn struct {
	net.Conn
	end func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.end()
	return c.Conn.Close()
}

// addressOf returns the IP address of a UDP or TCP address.
func addressOf(a net.Addr) netip.Addr {
	switch a := a.(type) {
	case *net.UDPAddr:
		return a.AddrPort().Addr().Unmap()
	case *net.TCPAddr:
		return a.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// carrierGradeNAT is shared address space, which clusters also use for pods.
var carrierGradeNAT = netip.MustParsePrefix("100.64.0.0/10")

// isPrivate reports whether an address is not routed on the Internet.
func isPrivate(a netip.Addr) bool {
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || carrierGradeNAT.Contains(a)
}

// isOwnAddress reports whether an address is one of this machine: it is the source address of a connection to itself.
// Programs and hostNetwork pods of this machine may use a public one.
func isOwnAddress(a netip.Addr) bool {
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(a.Unmap(), 9))) // UDP: no packet is sent
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap() == a.Unmap()
}
