package main

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
)

// Where kube-controller-manager and kube-scheduler serve, though on all addresses.
const (
	controllerAddress = "127.0.0.1:10257"
	schedulerAddress  = "127.0.0.1:10259"
)

// statusServer is what the controllers tell about themselves.
type statusServer struct {
	listener      net.Listener              // nil: nowhere
	certificate   metricsserver.Certificate // nil: a self-signed one
	config        any                       // for /configz
	registry      *prometheus.Registry
	displacements *metrics.Displacements
	informers     atomic.Pointer[informers.SharedInformerFactory] // of the loops; nil before they run
}

// newStatusServer is one for controllers with these settings; listener may be nil.
func newStatusServer(listener net.Listener, set settings) *statusServer {
	queues.EnableMetrics()
	p := &statusServer{listener: listener, config: map[string]any{"berth.dev": set.berth}, registry: metrics.NewRegistry(), displacements: metrics.NewDisplacements()}
	p.registry.MustRegister(p.displacements)
	return p
}

// ready says why the controllers cannot work yet. Those that do not lead are ready to.
func (p *statusServer) ready() error {
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

// serve serves it until the context ends; wg waits for that. config reaches the API server that is asked who may read it.
func (p *statusServer) serve(ctx context.Context, wg *sync.WaitGroup, config *rest.Config) error {
	if p.listener == nil {
		return nil
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // the page looks up few callers at once
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	site := metricsserver.Server{Component: "controller", Client: client, Listener: p.listener, Certificate: p.certificate, Readyz: p.ready,
		Protected: metricsserver.NewMux(p.registry, p.config, "workqueue_", "leader_election_", "endpoint_slice_controller_", "rest_client_")}
	return site.Start(ctx, wg)
}
