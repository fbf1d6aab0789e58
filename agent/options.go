package agent

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/runtime"
)

// Heartbeat defaults of the kubelet.
const (
	LeaseRenewal          = 10 * time.Second
	LeaseDurationRenewals = 4 // Lease duration, in renewal intervals
	maxMissedRenewals     = 3 // renewal intervals without a renewal after which the node status is written immediately
	StatusInterval        = 5 * time.Minute
)

// Options configures an agent. Client, Nodes and Runtime are required.
type Options struct {
	Client kubernetes.Interface
	// Environment replaces the wall clock and goroutines of the process; may be nil.
	Environment *Environment
	// Nodes are the node manifests to register: labels, taints, capacity and allocatable; real
	// nodes also set addresses, endpoint and versions. A manifest without a container runtime
	// version is a simulated node, whose missing fields are generated. More than one node requires
	// a runtime that supports it.
	Nodes []*corev1.Node
	// ExternallyRegistered means that other programs create the Node objects. The agent never creates
	// them, so a deleted node stays deleted.
	ExternallyRegistered bool
	// DeferStatus means that the API server has the status of the nodes already: the agent writes it when Report requests
	// it, not at the start.
	DeferStatus bool
	// Runtime creates the container runtime, which calls report for every change.
	Runtime func(report func(runtime.Report)) runtime.Runtime
	Log     klog.Logger
	// StatusWriters is the number of concurrent status writes; default 16.
	StatusWriters int
	// LeaseRenewal is the renewal interval of Leases; default 10 s.
	LeaseRenewal time.Duration
	// StatusInterval is the interval of node status writes without a change; default 5 min.
	StatusInterval time.Duration

	// Pressure returns the node-pressure manager of a node. If Pressure or its result is nil, node
	// pressure is not watched.
	Pressure func(node string) PressureManager
	// Ready returns an error while the node cannot run pods. A nil Ready means that it always can.
	Ready func(node string) error
	// Addresses returns the current addresses of the only node; default: those of its manifest.
	// Call Report when they change.
	Addresses func() []corev1.NodeAddress
	// PodCIDRTimeout is how long simulated nodes without spec.podCIDR wait for the cluster to
	// allocate one. After it, each node chooses a range: immediately if it is 0, never if negative.
	PodCIDRTimeout time.Duration
	// PodCIDR is the range of the pod network of a real node, which must be the only node. It is "" if
	// another program manages the network. The node is not ready if spec.podCIDR differs from it.
	PodCIDR string
	// Images returns the image list for the node status; nil: the list is empty.
	Images func(node string) []corev1.ContainerImage

	// StaticPods delivers all static pods of the only node, at once and after each change. Nil: there are
	// none, and mirror pods from the API server are ordinary pods.
	StaticPods <-chan []*corev1.Pod

	// Allocations stores the allocated resources of the pods of the only node. Nil: after a restart
	// the agent derives them from the pods' status.
	Allocations AllocationStore

	// AllowedUnsafeSysctls are allowed in addition to the safe ones. A trailing "*" matches any
	// suffix.
	AllowedUnsafeSysctls []string
	// MaxContainerRestartPeriod is the maximum restart backoff; default 5 min.
	MaxContainerRestartPeriod time.Duration
	// Shutdown has the grace periods of node shutdown.
	Shutdown Shutdown

	// Events records events about pods, NodeEvents those about nodes; nil: events are dropped.
	Events, NodeEvents record.EventRecorder
	// Metrics are optional.
	Metrics *Metrics
}

func (o *Options) setDefaults() {
	if o.Environment == nil {
		o.Environment = ProductionEnvironment()
	}
	if o.StatusWriters == 0 {
		o.StatusWriters = 16
	}
	if o.LeaseRenewal == 0 {
		o.LeaseRenewal = LeaseRenewal
	}
	if o.StatusInterval == 0 {
		o.StatusInterval = StatusInterval
	}
	if o.Events == nil {
		o.Events = discardRecorder{}
	}
	if o.NodeEvents == nil {
		o.NodeEvents = discardRecorder{}
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
}
