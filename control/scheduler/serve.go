package scheduler

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// stuckAfter is when the loop counts as stuck: some heartbeats without a step.
const stuckAfter = 6 * heartbeat

// serve answers /livez, /healthz and /readyz for everybody, and /metrics for whom
// it is allowed, over TLS, until the context ends.
func (s *shell) serve(ctx context.Context, wg *sync.WaitGroup) error {
	if s.o.Listen == "" {
		return nil
	}
	config, err := certificate(s.o.Listen)
	if err != nil {
		return fmt.Errorf("scheduler: health and metrics on %q: must be HOST:PORT: %w", s.o.Listen, err)
	}
	listener, err := tls.Listen("tcp", s.o.Listen, config)
	if err != nil {
		return fmt.Errorf("scheduler: health and metrics on %s: %w", s.o.Listen, err)
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	wg.Go(func() { _ = server.Serve(listener) })
	wg.Go(func() {
		<-ctx.Done()
		_ = server.Close()
	})
	return nil
}

func (s *shell) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", answer(s.metrics.alive))
	mux.HandleFunc("GET /healthz", answer(s.metrics.alive))
	mux.HandleFunc("GET /readyz", answer(s.metrics.ready))
	mux.Handle("GET /metrics", guarded(s.client, promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{})))
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

func (m *metrics) ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.known {
		return fmt.Errorf("the cluster is not known yet: some kinds were not listed")
	}
	return nil
}
