package controllermanager

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // leader_election_*
	_ "k8s.io/component-base/metrics/prometheus/workqueue"               // workqueue_*

	"github.com/berthproject/berth/controllers/metricsserver"
	queues "github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/internal/metrics"
	"github.com/berthproject/berth/internal/settings"
)

// Where kube-controller-manager and kube-scheduler serve, though on all addresses.
const (
	ControllerAddress = "127.0.0.1:10257"
	SchedulerAddress  = "127.0.0.1:10259"
)

// StatusServer is what the controllers tell about themselves.
type StatusServer struct {
	listener      net.Listener // nil: nowhere
	config        any          // for /configz
	Registry      *prometheus.Registry
	displacements *metrics.Displacements
	informers     atomic.Pointer[informers.SharedInformerFactory] // of the loops; nil before they run
}

// NewStatusServer is one for controllers with these settings; listener may be nil.
func NewStatusServer(listener net.Listener, set settings.Settings) *StatusServer {
	queues.EnableMetrics()
	p := &StatusServer{listener: listener, config: map[string]any{"berth.dev": set.Berth}, Registry: metrics.NewRegistry(), displacements: metrics.NewDisplacements()}
	p.Registry.MustRegister(p.displacements)
	return p
}

// ready says why the controllers cannot work yet. Those that do not lead are ready to.
func (p *StatusServer) ready() error {
	caches := p.informers.Load()
	if caches == nil {
		return nil
	}
	over := make(chan struct{})
	close(over)
	for _, synced := range (*caches).WaitForCacheSync(over) {
		if !synced {
			return errors.New("the cluster is not known yet: some kinds were not listed")
		}
	}
	return nil
}

// Serve serves it until the context ends; wg waits for that. config reaches the API server that is asked who may read it.
func (p *StatusServer) Serve(ctx context.Context, wg *sync.WaitGroup, config *rest.Config) error {
	if p.listener == nil {
		return nil
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // the page looks up few callers at once
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	site := metricsserver.Server{Component: "controller", Client: client, Listener: p.listener, Readyz: p.ready,
		Protected: metricsserver.NewMux(p.Registry, p.config, "workqueue_", "leader_election_", "endpoint_slice_controller_", "rest_client_")}
	return site.Start(ctx, wg)
}
