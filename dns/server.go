package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// preferredPort is the server's port if it is free. Port 53 belongs to the machine's resolver.
const preferredPort = 10053

// idleTimeout is the time after which TCP connections without queries are closed.
const idleTimeout = 8 * time.Second

// Options configures a server.
type Options struct {
	// Client watches Services, EndpointSlices, pods, namespaces and nodes.
	Client kubernetes.Interface
	// Domain is the cluster's domain, such as cluster.local.
	Domain string
	// ResolvConf names the file with the name servers for other names.
	ResolvConf string
	// OwnAddresses are other addresses of the server, such as the cluster IP of its Service.
	// Queries are not forwarded to them.
	OwnAddresses []netip.Addr
	Log          klog.Logger
}

// Listener listens for UDP and TCP at the same address and port.
type Listener struct {
	udp net.PacketConn
	tcp net.Listener
}

// Listen opens an address at the preferred port or, if it is in use, at another port.
func Listen(address netip.Addr) (*Listener, error) {
	l, err := listen(netip.AddrPortFrom(address, preferredPort))
	for range 10 {
		if err == nil {
			return l, nil
		}
		l, err = listen(netip.AddrPortFrom(address, 0)) // the number of a free TCP port may be in use for UDP
	}
	return nil, fmt.Errorf("cluster DNS: %w", err)
}

// receiveBuffer is the size of the UDP socket's buffer in bytes, unless the kernel's limit (net.core.rmem_max) is lower. The
// kernel's default has space for some 250 queries, which pods can send before a busy machine runs the server.
const receiveBuffer = 4 << 20

// listen opens an address. If its port is 0, it uses a free TCP port.
func listen(address netip.AddrPort) (*Listener, error) {
	tcp, err := net.Listen("tcp", address.String())
	if err != nil {
		return nil, err
	}
	port := tcp.Addr().(*net.TCPAddr).AddrPort().Port()
	udp, err := net.ListenPacket("udp", netip.AddrPortFrom(address.Addr(), port).String())
	if err != nil {
		_ = tcp.Close()
		return nil, err
	}
	if err := udp.(*net.UDPConn).SetReadBuffer(receiveBuffer); err != nil {
		return nil, errors.Join(err, udp.Close(), tcp.Close())
	}
	return &Listener{udp, tcp}, nil
}

// Address returns the address and port.
func (l *Listener) Address() netip.AddrPort { return l.tcp.Addr().(*net.TCPAddr).AddrPort() }

// Close closes both sockets.
func (l *Listener) Close() error { return errors.Join(l.udp.Close(), l.tcp.Close()) }

// Server answers DNS queries.
type Server struct{ handler *handler }

// NewServer returns a server. It watches the cluster until ctx is done, and returns after it has
// the current state.
func NewServer(ctx context.Context, o Options) (*Server, error) {
	s, err := newStore(ctx, o.Client)
	if err != nil {
		return nil, err
	}
	return &Server{&handler{
		zone: &zone{store: s, domain: dns.Fqdn(strings.ToLower(o.Domain))},
		forward: &forwarder{file: o.ResolvConf, port: "53", log: o.Log, isOwn: func(address netip.AddrPort) bool {
			return slices.Contains(o.OwnAddresses, address.Addr())
		}},
		queries: newLimiter(maxQueries, maxQueriesPerClient), forwarded: newLimiter(maxForwarded, maxForwardedPerClient), log: o.Log,
	}}, nil
}

// Serve answers queries until ctx is done. It closes the listener.
func (s *Server) Serve(ctx context.Context, l *Listener) error {
	servers := []*dns.Server{
		{PacketConn: l.udp, Handler: s.handler, UDPSize: dns.MinMsgSize * 8},
		{Listener: &limitedListener{l.tcp, newLimiter(maxConnections, maxConnectionsPerClient)}, Handler: s.handler,
			ReadTimeout: upstreamTimeout, WriteTimeout: upstreamTimeout, IdleTimeout: func() time.Duration { return idleTimeout }},
	}
	serveErr := make(chan error, len(servers))
	for _, server := range servers {
		go func() { serveErr <- server.ActivateAndServe() }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-serveErr:
	}
	_ = l.Close()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("cluster DNS at %s: %w", l.Address(), err)
}
