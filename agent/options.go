package agent

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/runtime"
)

// Heartbeats: the kubelet's defaults.
const (
	leaseRenewal          = 10 * time.Second
	leaseDurationRenewals = 4 // renewals that a Lease lasts
	maxMissedRenewals     = 3 // renewals after which an agent takes itself to have been silent
	statusInterval        = 5 * time.Minute
)

// Options of an agent.
type Options struct {
	Client kubernetes.Interface
	// Nodes to serve, as they are to be registered: labels, taints, capacity, allocatable,
	// and of real ones addresses, endpoint and versions. One without a container runtime's version
	// is simulated: what is missing is made up. More than one only with a runtime that can do so.
	Nodes []*corev1.Node
	// Runtime makes the runtime; it reports through its argument.
	Runtime func(report func(runtime.Report)) runtime.Runtime
	Log     klog.Logger
	// StatusWriters is how many requests may be under way at once; 16 when 0.
	StatusWriters int
	// LeaseRenewal is how often each node's Lease is renewed; 10 s when 0.
	LeaseRenewal time.Duration
	// StatusInterval is how often a node's status is written though nothing has changed; 5 min when 0.
	StatusInterval time.Duration

	// Pressure watches a node for shortages; nil, or an answer of nil: nobody does.
	Pressure func(node string) Pressure
	// Ready says why a node cannot run pods; nil, or an answer of nil: it can.
	Ready func(node string) error
	// Addresses are those of the node now, of an agent of one; nil: those of Nodes for good. Report the node
	// when they change.
	Addresses func() []corev1.NodeAddress
	// Images are those that a node has, for its status; nil: none are told of.
	Images func(node string) []corev1.ContainerImage

	// AllowedUnsafeSysctls are those that pods may set beside the safe ones; one that ends in * stands
	// for all that begin so.
	AllowedUnsafeSysctls []string
	// MaxContainerRestartPeriod is the longest wait of a container that keeps failing; 5 min when 0.
	MaxContainerRestartPeriod time.Duration
	// Shutdown is how long pods have when their node is shut down.
	Shutdown Shutdown

	// Events takes what is told about pods and nodes; nil: nothing is told.
	Events record.EventRecorder
	// Metrics count what the agent does; nil: nobody looks.
	Metrics *Metrics
}

func (o *Options) setDefaults() {
	if o.StatusWriters == 0 {
		o.StatusWriters = 16
	}
	if o.LeaseRenewal == 0 {
		o.LeaseRenewal = leaseRenewal
	}
	if o.StatusInterval == 0 {
		o.StatusInterval = statusInterval
	}
	if o.Events == nil {
		o.Events = discardRecorder{}
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
}
