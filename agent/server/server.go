package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
)

const (
	// readHeaderTimeout bounds the time to read a request header.
	readHeaderTimeout = 30 * time.Second
	// idleTimeout closes idle connections.
	idleTimeout = 5 * time.Minute
	// shutdownTimeout bounds the time for open requests at shutdown.
	shutdownTimeout = time.Second
)

// Server serves its nodes. Create it with New and start it with Run.
type Server struct {
	opts  Options
	nodes map[string]*Node
	authn authenticator.Request
	authz *authorizer
	mux   *http.ServeMux

	streamStart time.Duration // replaces streamStartTimeout in tests
}

// Listen listens on HOST:PORT; port 0 selects a free one.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("agent: %s is in use by another process, perhaps a kubelet: stop it or use another port", address)
	}
	if err != nil {
		return nil, fmt.Errorf("agent: listening on %s: %w", address, err)
	}
	return l, nil
}

// New validates the options. Only Run closes the listener.
func New(o Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	authn, err := newAuthenticator(o)
	if err != nil {
		return nil, err
	}
	s := &Server{opts: o, nodes: map[string]*Node{}, authn: authn, authz: newAuthorizer(o.Client), mux: http.NewServeMux()}
	for _, n := range o.Nodes {
		s.nodes[n.Name] = n
	}
	s.registerRoutes()
	return s, nil
}

// Port returns the port of the listener.
func (s *Server) Port() int32 {
	tcp, ok := s.opts.Listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0
	}
	return int32(tcp.Port)
}

// Run serves until ctx is done, then aborts open streams.
func (s *Server) Run(ctx context.Context) error {
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          debugLogger(s.opts.Log),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		TLSConfig: &tls.Config{
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.opts.certificate(), nil },
			ClientAuth:     tls.RequestClientCert, // verified by the authenticator
			MinVersion:     tls.VersionTLS12,
		},
	}
	serveErr := make(chan error, 1)
	go func() { serveErr <- server.ServeTLS(s.opts.Listener, "", "") }()
	select {
	case err := <-serveErr:
		return fmt.Errorf("agent: serving on %s: %w", s.opts.Listener.Addr(), err)
	case <-ctx.Done():
	}
	shutdownCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(shutdownCtx); err != nil {
		_ = server.Close()
	}
	_ = <-serveErr
	return nil
}
