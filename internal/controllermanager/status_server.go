package controllermanager

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // leader_election_*
	_ "k8s.io/component-base/metrics/prometheus/workqueue"               // workqueue_*

	"github.com/berthproject/berth/controllers/componentserver"
	queues "github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/internal/metrics"
	"github.com/berthproject/berth/internal/settings"
)

// Loopback addresses with the ports of kube-controller-manager and kube-scheduler.
const (
	ControllerAddress = "127.0.0.1:10257"
	SchedulerAddress  = "127.0.0.1:10259"
)

// StatusServer serves the health, metrics and configuration of the controllers.
type StatusServer struct {
	// Certificate is the serving certificate; nil means a self-signed one.
	Certificate   componentserver.Certificate
	listener      net.Listener         // nil: serve nothing
	config        any                  // for /configz
	Registry      *prometheus.Registry // served at /metrics
	displacements *metrics.Displacements
	informers     atomic.Pointer[informers.SharedInformerFactory] // nil until the controllers run
}

// NewStatusServer returns a StatusServer. If listener is nil, the server serves nothing.
func NewStatusServer(listener net.Listener, set settings.Settings) *StatusServer {
	queues.EnableMetrics()
	s := &StatusServer{listener: listener, config: map[string]any{"berth.dev": set.Berth}, Registry: metrics.NewRegistry(), displacements: metrics.NewDisplacements()}
	s.Registry.MustRegister(s.displacements)
	return s
}

// ready returns an error unless all informers are synchronized. A replica without started controllers is ready.
func (s *StatusServer) ready() error {
	caches := s.informers.Load()
	if caches == nil {
		return nil
	}
	expired := make(chan struct{})
	close(expired) // WaitForCacheSync must not block
	var kinds []string
	for kind, synced := range (*caches).WaitForCacheSync(expired) {
		if !synced {
			kinds = append(kinds, kind.Elem().Name())
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	slices.Sort(kinds)
	return fmt.Errorf("informers of %s: not synced", strings.Join(kinds, ", "))
}

// Serve starts the server, which runs until ctx is done, and adds its goroutines to wg. The server uses config for the
// requests that authorize its clients.
func (s *StatusServer) Serve(ctx context.Context, wg *sync.WaitGroup, config *rest.Config) error {
	if s.listener == nil {
		return nil
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // no rate limit: few clients need authorization
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	server := componentserver.Server{Component: "controller", Client: client, Listener: s.listener, Certificate: s.Certificate, Readyz: s.ready,
		Protected: componentserver.NewMux(s.Registry, s.config, "workqueue_", "leader_election_", "endpoint_slice_controller_", "rest_client_")}
	return server.Start(ctx, wg)
}
