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
	for path, handler := range s.guardedPaths() {
		mux.Handle(path, guarded(s.client, handler))
	}
	return mux
}

// guardedPaths are the paths that need a right of their own.
func (s *shell) guardedPaths() map[string]http.Handler {
	paths := map[string]http.Handler{
		"GET /metrics":                       promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}),
		"GET /configz":                       http.HandlerFunc(s.configz),
		"GET /debug/pods/{namespace}/{name}": http.HandlerFunc(s.debugPod),
	}
	if s.o.Profiling {
		paths["GET /debug/pprof/"] = http.HandlerFunc(pprof.Index)
		paths["GET /debug/pprof/cmdline"] = http.HandlerFunc(pprof.Cmdline)
		paths["GET /debug/pprof/profile"] = http.HandlerFunc(pprof.Profile)
		paths["GET /debug/pprof/symbol"] = http.HandlerFunc(pprof.Symbol)
		paths["GET /debug/pprof/trace"] = http.HandlerFunc(pprof.Trace)
	}
	return paths
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
