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

// Server is what a part tells about itself.
type Server struct {
	Component string               // its name in errors
	Client    kubernetes.Interface // asked who has a token, and what they may get
	Listen    string               // HOST:PORT; empty and no Listener: it serves nothing
	Listener  net.Listener         // instead of Listen; it is closed in the end
	// Livez and Ready say why it is not; nil: it is.
	Livez, Readyz func() error
	// Protected are what needs a right to its path.
	Protected http.Handler
}

// Start serves until the context ends; wg waits for that.
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

// ListenOrAnyPort listens at an address or, if that is taken, at any other port of its host.
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

// newListener is where to serve; nil for nowhere.
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
		return nil, fmt.Errorf("%s: health and metrics on %q: must be HOST:PORT: %w", s.Component, at, err)
	}
	if listener == nil {
		if listener, err = net.Listen("tcp", at); err != nil {
			return nil, fmt.Errorf("%s: health and metrics on %s: %w", s.Component, at, err)
		}
	}
	return tls.NewListener(listener, config), nil
}

// Handler answers all requests.
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
