package serve

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
	// headerWithin bounds how long a request's head may take.
	headerWithin = 30 * time.Second
	// idleFor is how long a connection without requests is kept.
	idleFor = 5 * time.Minute
	// finishWithin bounds how long requests may go on when the server ends.
	finishWithin = time.Second
)

// Server answers for its nodes. Make it with New, start it with Run.
type Server struct {
	opts  Options
	nodes map[string]*Node
	who   authenticator.Request
	may   *reviews
	paths *http.ServeMux
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
	who, err := credentials(o)
	if err != nil {
		return nil, err
	}
	s := &Server{opts: o, nodes: map[string]*Node{}, who: who, may: newReviews(o.Client), paths: http.NewServeMux()}
	for _, n := range o.Nodes {
		s.nodes[n.Name] = n
	}
	s.route()
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
		ReadHeaderTimeout: headerWithin,
		IdleTimeout:       idleFor,
		ErrorLog:          quiet(s.opts.Log),
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
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
	defer cancel()
	if err := server.Shutdown(finish); err != nil {
		_ = server.Close()
	}
	<-ended
	return nil
}
