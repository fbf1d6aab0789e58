package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/berthproject/berth/agent/runtime"
)

// Port is the default port, that of the kubelet.
const Port = 10250

// Options configures a Server.
type Options struct {
	// Listener accepts the connections; the server closes it. See Listen.
	Listener net.Listener
	// Certificate is the serving certificate; see ServingCertificate.
	Certificate tls.Certificate
	// Renewed returns the certificate that replaces Certificate, or nil. It may be nil.
	Renewed func() *tls.Certificate
	// ClientCA is the PEM of the CAs of client certificates. Without it only tokens are accepted.
	ClientCA []byte
	// Client sends token reviews and access reviews to the API server.
	Client kubernetes.Interface
	// Nodes are the served nodes. A single node has the kubelet's paths; several are below /nodes/NAME.
	Nodes []*Node
	Log   klog.Logger
}

// Node is a served node. Requests that need a nil field fail with status 404, or 400 if the field is Runtime.
type Node struct {
	Name string
	// Pods returns the pods bound to the node, which are not modified.
	Pods func() []*corev1.Pod
	// Runtime runs the pods' containers; nil for simulated nodes.
	Runtime runtime.Service
	// Summary returns the usage of node and pods.
	Summary func(context.Context) (*stats.Summary, error)
	// Disk returns the disk report, which is encoded as JSON.
	Disk func(context.Context) (any, error)
	// Pressure returns the report of the eviction manager, which is encoded as JSON.
	Pressure func(context.Context) (any, error)
	// Containers exports the series of /metrics/cadvisor.
	Containers prometheus.Collector
	// Metrics exports the metrics of the agent.
	Metrics prometheus.Gatherer
}

func (o *Options) certificate() *tls.Certificate {
	if o.Renewed != nil {
		if renewed := o.Renewed(); renewed != nil {
			return renewed
		}
	}
	return &o.Certificate
}

func (o Options) validate() error {
	switch {
	case o.Listener == nil:
		return errors.New("agent/server: Listener is required")
	case len(o.Certificate.Certificate) == 0:
		return errors.New("agent/server: Certificate is required")
	case o.Client == nil:
		return errors.New("agent/server: Client is required")
	case len(o.Nodes) == 0:
		return errors.New("agent/server: at least one node is required")
	}
	seen := map[string]bool{}
	for _, n := range o.Nodes {
		if n.Name == "" || n.Pods == nil {
			return fmt.Errorf("agent/server: node %q: Name and Pods are required", n.Name)
		}
		if seen[n.Name] {
			return fmt.Errorf("agent/server: node %q: duplicate name", n.Name)
		}
		seen[n.Name] = true
	}
	return nil
}
