package scheduler

import (
	"context"
	"fmt"
	"net/http"
	"net/http/pprof"
	"runtime"
	"sync"
	"time"

	_ "k8s.io/component-base/metrics/prometheus/workqueue" // workqueue_*: named queues of all libraries in the process

	"github.com/berthproject/berth/controllers/componentserver"
)

// livenessTimeout is the time without a step after which the loop counts as stuck.
const livenessTimeout = 6 * heartbeat

// startServer serves health, metrics and debugging over TLS until ctx is done.
func (s *scheduler) startServer(ctx context.Context, wg *sync.WaitGroup) error {
	if s.o.ContentionProfiling && (s.o.Listen != "" || s.o.Listener != nil) {
		runtime.SetBlockProfileRate(1)
	}
	return s.server().Start(ctx, wg)
}

func (s *scheduler) server() *componentserver.Server {
	return &componentserver.Server{Component: "scheduler", Client: s.client, Listen: s.o.Listen, Listener: s.o.Listener, Certificate: s.o.Certificate,
		Livez: s.metrics.livez, Readyz: s.readyz, Protected: s.protectedHandler()}
}

// protectedHandler serves the paths that require authorization.
func (s *scheduler) protectedHandler() http.Handler {
	mux := componentserver.NewMux(s.metrics.registry, s.o.EffectiveConfig, "leader_election_", "rest_client_", "workqueue_")
	mux.HandleFunc("GET /metrics/resources", s.serveResourceMetrics)
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

func (m *metrics) livez() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since := m.clock.Since(m.lastHeartbeat); since > livenessTimeout {
		return fmt.Errorf("no iteration of the scheduling loop for %v", since.Round(time.Second))
	}
	return nil
}

// readyz returns why this instance cannot schedule yet. With DelayCache an instance that
// does not lead is ready to become the next leader.
func (s *scheduler) readyz() error {
	if s.o.DelayCache && !s.leads() {
		return nil
	}
	s.metrics.mu.Lock()
	defer s.metrics.mu.Unlock()
	if !s.metrics.cacheSynced {
		return fmt.Errorf("caches are not synced yet")
	}
	return nil
}
