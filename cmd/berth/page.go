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

	queues "github.com/berthproject/berth/control/loop"
	"github.com/berthproject/berth/control/serve"
	"github.com/berthproject/berth/internal/metrics"
)

// Where kube-controller-manager and kube-scheduler serve, though on all addresses.
const (
	controllerPage = "127.0.0.1:10257"
	schedulerPage  = "127.0.0.1:10259"
)

// page is what the controllers tell about themselves.
type page struct {
	listener  net.Listener // nil: nowhere
	config    any          // for /configz
	registry  *prometheus.Registry
	displaced *metrics.Displacements
	caches    atomic.Pointer[informers.SharedInformerFactory] // of the loops; nil before they run
}

// newPage is one for controllers with these settings; listener may be nil.
func newPage(listener net.Listener, set settings) *page {
	queues.Measure()
	p := &page{listener: listener, config: map[string]any{"berth.dev": set.berth}, registry: metrics.NewRegistry(), displaced: metrics.NewDisplacements()}
	p.registry.MustRegister(p.displaced)
	return p
}

// ready says why the controllers cannot work yet. Those that do not lead are ready to.
func (p *page) ready() error {
	caches := p.caches.Load()
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
func (p *page) serve(ctx context.Context, wg *sync.WaitGroup, config *rest.Config) error {
	if p.listener == nil {
		return nil
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // the page looks up few callers at once
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	site := serve.Site{Part: "controller", Client: client, Listener: p.listener, Ready: p.ready,
		Pages: serve.Pages(p.registry, p.config, "workqueue_", "leader_election_", "endpoint_slice_controller_", "rest_client_")}
	return site.Start(ctx, wg)
}
