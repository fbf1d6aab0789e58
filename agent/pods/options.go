package pods

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/userns"
)

// Options configures a Runner. Service, NodeName, Node, Root, Images and Volumes are required.
type Options struct {
	Service runtime.Service
	// Client uses the node's credential. It reads ConfigMaps, Secrets, Services and RuntimeClasses. Optional: without it
	// these objects are unavailable.
	Client kubernetes.Interface
	// NodeName is the node whose pods the Runner runs.
	NodeName string
	// Node returns the registered node. The Runner uses its capacity, allocatable and addresses.
	Node func() *corev1.Node
	// Root is the agent's directory. Pods are in Root/pods/UID.
	Root string
	// Logs is the directory of all logs: Logs/NAMESPACE_NAME_UID/CONTAINER/RESTART.log. The default
	// is Root/log/pods.
	Logs string
	// Cgroups manages the machine's cgroups. Optional: without it pods have no cgroup and no
	// pod-level limits.
	Cgroups Cgroups
	// CgroupRoot is the cgroup of the node. The default is "/", a whole machine.
	CgroupRoot string
	Images     Images
	Volumes    Volumes
	// Prober runs the probes of running containers. Optional.
	Prober Prober
	// Event records an event about a pod. Optional.
	Event func(pod *corev1.Pod, container, eventType, reason, message string)
	Log   klog.Logger
	// AwaitEndpoints blocks until Services send no new connections to the addresses of a pod that is
	// being deleted, or ctx ends. Containers get their stop signal after that. Optional.
	AwaitEndpoints func(ctx context.Context, addresses []string)
	// EndpointTimeout and half of the grace period bound AwaitEndpoints.
	EndpointTimeout time.Duration
	// PortInUse describes the process that listens on a port of the machine, or returns "". A pod with that host port
	// would receive the process's traffic. Optional.
	PortInUse func(protocol string, address netip.Addr, port uint16) string

	// UserNamespaces assigns ranges of user IDs to pods with their own user namespace. Optional: without
	// it the Runner refuses these pods.
	UserNamespaces *userns.Allocator

	DNS DNS
	// PidsLimit is the maximum number of processes of a pod; 0 means no limit.
	PidsLimit int64
	// SeccompDefault applies the runtime's seccomp profile to containers that specify none.
	SeccompDefault bool
	// NoCPUQuota disables CPU limits (cpuCFSQuota: false).
	NoCPUQuota bool
	// LogSize is the size in bytes at which a log is rotated, by default 10 MiB. LogFiles is the
	// maximum number of files per log, by default 5.
	LogSize  int64
	LogFiles int
}

// DNS configures the resolv.conf of pods.
type DNS struct {
	Servers []string // of the cluster; if empty, pods use the node's servers
	Domain  string   // of the cluster, for example cluster.local
	// NoCluster means that the cluster cannot have DNS. Pods then get no warning about missing cluster DNS.
	NoCluster bool
	// ResolvConf is the node's resolv.conf, by default /etc/resolv.conf.
	ResolvConf string
	// UpstreamResolvConf names the servers behind a resolver on the node's loopback address, which
	// pods cannot reach. The default is systemd-resolved's file.
	UpstreamResolvConf string
}

// validate checks the options and sets defaults.
func (o *Options) validate() error {
	switch {
	case o.Service == nil:
		return errors.New("pods: Service: required")
	case o.NodeName == "":
		return errors.New("pods: NodeName: required")
	case o.Node == nil:
		return errors.New("pods: Node: required")
	case !filepath.IsAbs(o.Root):
		return errors.New("pods: Root: must be an absolute path")
	case o.Images == nil:
		return errors.New("pods: Images: required")
	case o.Volumes == nil:
		return errors.New("pods: Volumes: required")
	}
	if o.Logs == "" {
		o.Logs = filepath.Join(o.Root, "log", "pods")
	}
	if o.CgroupRoot == "" {
		o.CgroupRoot = "/"
	}
	if o.Event == nil {
		o.Event = func(*corev1.Pod, string, string, string, string) {}
	}
	o.DNS.setDefaults()
	if o.LogSize == 0 {
		o.LogSize = 10 << 20
	}
	if o.LogFiles == 0 {
		o.LogFiles = 5
	}
	return nil
}
