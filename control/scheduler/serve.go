package scheduler

import (
	"context"
	"fmt"
	"net/http"
	"net/http/pprof"
	"runtime"
	"sync"
	"time"

	"github.com/berthproject/berth/control/serve"
)

// stuckAfter is when the loop counts as stuck: some heartbeats without a step.
const stuckAfter = 6 * heartbeat

// serve tells about this copy over TLS until the context ends.
func (s *shell) serve(ctx context.Context, wg *sync.WaitGroup) error {
	if s.o.ContentionProfiling && (s.o.Listen != "" || s.o.Listener != nil) {
		runtime.SetBlockProfileRate(1)
	}
	return s.site().Start(ctx, wg)
}

func (s *shell) site() *serve.Site {
	return &serve.Site{Part: "scheduler", Client: s.client, Listen: s.o.Listen, Listener: s.o.Listener,
		Alive: s.metrics.alive, Ready: s.ready, Pages: s.open()}
}

// open is what needs a right of its own by its path, without the guard.
func (s *shell) open() http.Handler {
	mux := serve.Pages(s.metrics.registry, s.o.Effective, "leader_election_", "rest_client_")
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
