package metricsserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
)

// Server serves the state of one component.
type Server struct {
	Component string               // name of the component, for errors
	Client    kubernetes.Interface // reviews tokens and access
	Listen    string               // HOST:PORT; empty without Listener: nothing is served
	Listener  net.Listener         // used instead of Listen; closed when ctx is done
	// Livez and Readyz return why the component is not live or not ready. Nil means always.
	Livez, Readyz func() error
	// Protected serves the paths that require authorization.
	Protected http.Handler
}

// Start serves until ctx is done. It adds its goroutines to wg.
func (s *Server) Start(ctx context.Context, wg *sync.WaitGroup) error {
	listener, err := s.newListener()
	if listener == nil || err != nil {
		return err
	}
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	wg.Go(func() { _ = server.Serve(listener) })
	wg.Go(func() {
		<-ctx.Done()
		_ = server.Close()
	})
	return nil
}

// ListenOrAnyPort listens on an address or, if that is in use, on a free port of its host.
func ListenOrAnyPort(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	host, _, malformed := net.SplitHostPort(address)
	if malformed != nil {
		return nil, errors.Join(err, malformed)
	}
	return net.Listen("tcp", net.JoinHostPort(host, "0"))
}

// newListener returns the TLS listener, or nil if nothing is to be served.
func (s *Server) newListener() (net.Listener, error) {
	if s.Listen == "" && s.Listener == nil {
		return nil, nil
	}
	listener, at := s.Listener, s.Listen
	if listener != nil {
		at = listener.Addr().String()
	}
	config, err := selfSignedTLSConfig(at)
	if err != nil {
		return nil, fmt.Errorf("%s: metrics address %q: must be HOST:PORT: %w", s.Component, at, err)
	}
	if listener == nil {
		if listener, err = net.Listen("tcp", at); err != nil {
			return nil, fmt.Errorf("%s: listening on metrics address %s: %w", s.Component, at, err)
		}
	}
	return tls.NewListener(listener, config), nil
}

// Handler returns the handler of all paths.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", healthHandler(s.Livez))
	mux.HandleFunc("GET /healthz", healthHandler(s.Livez))
	mux.HandleFunc("GET /readyz", healthHandler(s.Readyz))
	mux.Handle("/", requireAuthorization(s.Client, s.Protected))
	return mux
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
