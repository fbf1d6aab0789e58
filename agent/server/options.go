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

// Port is where an agent listens if it is not told otherwise: the kubelet's.
const Port = 10250

// Options of a Server.
type Options struct {
	// Listener takes connections; the server closes it. Listen makes one.
	Listener net.Listener
	// Certificate is what the server shows: the node's own credential, whose name
	// the API server checks, or SelfSigned where no such credential serves.
	Certificate tls.Certificate
	// ClientCA is PEM of the authorities whose client certificates are believed;
	// without it only tokens are.
	ClientCA []byte
	// Client asks the API server who owns a token and who may do what.
	Client kubernetes.Interface
	// Nodes that are served. A single one has the paths of a kubelet; each of
	// several is under /nodes/NAME.
	Nodes []*Node
	Log   klog.Logger
}

// Node is what a server tells of a node, and reaches on it. What is nil is
// answered with "404: this node does not ...".
type Node struct {
	// Name of the node.
	Name string
	// Pods are those bound to the node, as the agent knows them. They are not changed.
	Pods func() []*corev1.Pod
	// Runtime runs the pods' containers, with the labels that every CRI client
	// gives them, and knows where their logs are; nil where they are simulated.
	Runtime runtime.Service
	// Summary is what node and pods use.
	Summary func(context.Context) (*stats.Summary, error)
	// Disk is what holds the node's disks, as JSON is made of it.
	Disk func(context.Context) (any, error)
	// Metrics are the agent's own.
	Metrics prometheus.Gatherer
}

func (o Options) validate() error {
	switch {
	case o.Listener == nil:
		return errors.New("agent/server: no listener")
	case len(o.Certificate.Certificate) == 0:
		return errors.New("agent/server: no certificate to serve with")
	case o.Client == nil:
		return errors.New("agent/server: no client to ask the API server with")
	case len(o.Nodes) == 0:
		return errors.New("agent/server: no node to serve")
	}
	seen := map[string]bool{}
	for _, n := range o.Nodes {
		if n.Name == "" || n.Pods == nil {
			return fmt.Errorf("agent/server: node %q: name and pods must be given", n.Name)
		}
		if seen[n.Name] {
			return fmt.Errorf("agent/server: node %q is given twice", n.Name)
		}
		seen[n.Name] = true
	}
	return nil
}
