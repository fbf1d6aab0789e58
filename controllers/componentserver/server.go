package componentserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

// shutdownTimeout bounds how long requests in flight may take after ctx is done.
const shutdownTimeout = time.Second

// Server serves the health checks, metrics, configuration and debugging data of one component.
type Server struct {
	Component   string               // name of the component, for errors
	Client      kubernetes.Interface // reviews tokens and access, and reads the client CA
	Listen      string               // HOST:PORT; empty without Listener: nothing is served
	Listener    net.Listener         // used instead of Listen; closed when ctx is done
	Certificate Certificate          // nil: a self-signed certificate
	// Livez and Readyz return why the component is not live or not ready. A nil function means that it always is.
	Livez, Readyz func() error
	// Protected serves the paths that require authorization.
	Protected http.Handler
}

// Start serves until ctx is done. It adds its goroutines to wg.
func (s *Server) Start(ctx context.Context, wg *sync.WaitGroup) error {
	listener, err := s.listen()
	if listener == nil || err != nil {
		return err
	}
	info := &server.SecureServingInfo{Listener: listener, Cert: s.Certificate}
	if info.Cert == nil {
		if info.Cert, err = SelfSigned(listener.Addr().String()); err != nil {
			return fmt.Errorf("%s: creating the serving certificate: %w", s.Component, err)
		}
	}
	ca, err := newClientCA(s.Client)
	if err != nil {
		return fmt.Errorf("%s: reading the client CA: %w", s.Component, err)
	}
	info.ClientCA = ca
	handler, err := s.handler(ca)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Component, err)
	}
	stopped, _, err := info.Serve(handler, shutdownTimeout, ctx.Done())
	if err != nil {
		return fmt.Errorf("%s: serving metrics: %w", s.Component, err)
	}
	wg.Go(func() { <-stopped })
	return nil
}

// ListenOrAnyPort listens on an address or, if that is in use, on a free port of its host.
func ListenOrAnyPort(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	host, _, splitErr := net.SplitHostPort(address)
	if splitErr != nil {
		return nil, errors.Join(err, splitErr)
	}
	return net.Listen("tcp", net.JoinHostPort(host, "0"))
}

// listen returns the listener, or nil if nothing is to be served.
func (s *Server) listen() (net.Listener, error) {
	if s.Listener != nil || s.Listen == "" {
		return s.Listener, nil
	}
	listener, err := net.Listen("tcp", s.Listen)
	if err != nil {
		return nil, fmt.Errorf("%s: metrics address %q: must be HOST:PORT and free: %w", s.Component, s.Listen, err)
	}
	return listener, nil
}

// Handler returns the handler of all paths. It authenticates by bearer token only.
func (s *Server) Handler() (http.Handler, error) { return s.handler(nil) }

func (s *Server) handler(ca dynamiccertificates.CAContentProvider) (http.Handler, error) {
	authn, err := newAuthenticator(s.Client, ca)
	if err != nil {
		return nil, err
	}
	authz, err := newAuthorizer(s.Client)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", healthHandler(s.Livez))
	mux.HandleFunc("GET /healthz", healthHandler(s.Livez))
	mux.HandleFunc("GET /readyz", healthHandler(s.Readyz))
	mux.Handle("/", requireAuthorization(s.Protected, authn, authz))
	return mux, nil
}

func healthHandler(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if check != nil {
			if err := check(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		_, _ = w.Write([]byte("ok"))
	}
}
