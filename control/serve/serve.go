package serve

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

// Site is what a part tells about itself.
type Site struct {
	Part     string               // its name in errors
	Client   kubernetes.Interface // asked who has a token, and what they may get
	Listen   string               // HOST:PORT; empty and no Listener: it serves nothing
	Listener net.Listener         // instead of Listen; it is closed in the end
	// Alive and Ready say why it is not; nil: it is.
	Alive, Ready func() error
	// Pages are what needs a right to its path.
	Pages http.Handler
}

// Start serves until the context ends; wg waits for that.
func (s *Site) Start(ctx context.Context, wg *sync.WaitGroup) error {
	listener, err := s.listen()
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

// ListenNear listens at an address or, if that is taken, at any other port of its host.
func ListenNear(address string) (net.Listener, error) {
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

// listen is where to serve; nil for nowhere.
func (s *Site) listen() (net.Listener, error) {
	if s.Listen == "" && s.Listener == nil {
		return nil, nil
	}
	listener, at := s.Listener, s.Listen
	if listener != nil {
		at = listener.Addr().String()
	}
	config, err := certificate(at)
	if err != nil {
		return nil, fmt.Errorf("%s: health and metrics on %q: must be HOST:PORT: %w", s.Part, at, err)
	}
	if listener == nil {
		if listener, err = net.Listen("tcp", at); err != nil {
			return nil, fmt.Errorf("%s: health and metrics on %s: %w", s.Part, at, err)
		}
	}
	return tls.NewListener(listener, config), nil
}

// Handler answers all requests.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", answer(s.Alive))
	mux.HandleFunc("GET /healthz", answer(s.Alive))
	mux.HandleFunc("GET /readyz", answer(s.Ready))
	mux.Handle("/", guarded(s.Client, s.Pages))
	return mux
}

func answer(check func() error) http.HandlerFunc {
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
