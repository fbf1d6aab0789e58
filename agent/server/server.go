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
	// readHeaderTimeout bounds how long a request's head may take.
	readHeaderTimeout = 30 * time.Second
	// idleTimeout is how long a connection without requests is kept.
	idleTimeout = 5 * time.Minute
	// shutdownTimeout bounds how long requests may go on when the server ends.
	shutdownTimeout = time.Second
)

// Server answers for its nodes. Make it with New, start it with Run.
type Server struct {
	opts  Options
	nodes map[string]*Node
	authn authenticator.Request
	authz *authorizer
	mux   *http.ServeMux
}

// Listen takes an address, HOST:PORT; port 0 takes a free one.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("agent: %s is in use by another process (a kubelet?): stop it, or choose another port", address)
	}
	if err != nil {
		return nil, fmt.Errorf("agent: listening on %s: %w", address, err)
	}
	return l, nil
}

// New checks the options. The listener is closed by Run only.
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

// Port is the port that the server listens on.
func (s *Server) Port() int32 {
	tcp, ok := s.opts.Listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0
	}
	return int32(tcp.Port)
}

// Run answers until ctx ends. Streams are then cut.
func (s *Server) Run(ctx context.Context) error {
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          debugLogger(s.opts.Log),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{s.opts.Certificate},
			ClientAuth:   tls.RequestClientCert, // who shows one is checked by credentials
			MinVersion:   tls.VersionTLS12,
		},
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(s.opts.Listener, "", "") }()
	select {
	case err := <-ended:
		return fmt.Errorf("agent: serving on %s: %w", s.opts.Listener.Addr(), err)
	case <-ctx.Done():
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(finish); err != nil {
		_ = server.Close()
	}
	<-ended
	return nil
}
