package scheduler

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// stuckAfter is when the loop counts as stuck: some heartbeats without a step.
const stuckAfter = 6 * heartbeat

// serve answers /livez, /healthz and /readyz for everybody, and all else for whom
// it is allowed, over TLS, until the context ends.
func (s *shell) serve(ctx context.Context, wg *sync.WaitGroup) error {
	listener, err := s.listen()
	if listener == nil || err != nil {
		return err
	}
	if s.o.ContentionProfiling {
		runtime.SetBlockProfileRate(1)
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	wg.Go(func() { _ = server.Serve(listener) })
	wg.Go(func() {
		<-ctx.Done()
		_ = server.Close()
	})
	return nil
}

// listen is where to serve; nil for nowhere.
func (s *shell) listen() (net.Listener, error) {
	if s.o.Listen == "" && s.o.Listener == nil {
		return nil, nil
	}
	listener, at := s.o.Listener, s.o.Listen
	if listener != nil {
		at = listener.Addr().String()
	}
	config, err := certificate(at)
	if err != nil {
		return nil, fmt.Errorf("scheduler: health and metrics on %q: must be HOST:PORT: %w", at, err)
	}
	if listener == nil {
		if listener, err = net.Listen("tcp", at); err != nil {
			return nil, fmt.Errorf("scheduler: health and metrics on %s: %w", at, err)
		}
	}
	return tls.NewListener(listener, config), nil
}

func (s *shell) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", answer(s.metrics.alive))
	mux.HandleFunc("GET /healthz", answer(s.metrics.alive))
	mux.HandleFunc("GET /readyz", answer(s.ready))
	mux.Handle("/", guarded(s.client, s.open()))
	return mux
}

// open is what needs a right of its own by its path, without the guard.
func (s *shell) open() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /configz", s.configz)
	mux.HandleFunc("GET /debug/queue", s.debugQueue)
	mux.HandleFunc("GET /debug/pods/{namespace}/{name}", s.debugPod)
	if s.o.Profiling {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

func answer(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := check(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok"))
	}
}

func (m *metrics) alive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since := time.Since(m.beatAt); since > stuckAfter {
		return fmt.Errorf("the scheduling loop has not come round for %v", since.Round(time.Second))
	}
	return nil
}

// ready says why this copy cannot schedule yet. One that follows the API only once
// it leads is ready to be the next leader before that.
func (s *shell) ready() error {
	if s.o.DelayCache && !s.leads() {
		return nil
	}
	s.metrics.mu.Lock()
	defer s.metrics.mu.Unlock()
	if !s.metrics.known {
		return fmt.Errorf("the cluster is not known yet: some kinds were not listed")
	}
	return nil
}
