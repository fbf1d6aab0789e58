package pods

import (
	"errors"
	"net/netip"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/runtime"
)

// Options of a Runner. What is not marked optional must be given.
type Options struct {
	Service runtime.Service
	// Client has the node's rights: configMaps, secrets and services for environments,
	// the node's pods for telling orphans. Optional: without it environments know no
	// other objects and no orphan is removed.
	Client kubernetes.Interface
	// NodeName is whose pods are run.
	NodeName string
	// Node is the node as it is registered; its capacity and allocatable count.
	Node func() *corev1.Node
	// Root is the agent's directory: pods are under Root/pods/UID.
	Root string
	// Logs is where logs go: Logs/NAMESPACE_NAME_UID/CONTAINER/RESTART.log; Root/log/pods when empty.
	Logs string
	// Cgroups are this machine's; optional: without, pods live where the runtime puts them and have no limits of their own.
	Cgroups Cgroups
	// CgroupRoot is the cgroup of the node, "/" for a whole machine.
	CgroupRoot string
	Images     Images
	Volumes    Volumes
	// Prober is told which containers run; optional.
	Prober Prober
	// Event records an event about a pod; optional.
	Event func(pod *corev1.Pod, container, eventType, reason, message string)
	Log   klog.Logger
	// PortInUse says who listens at a port of the machine, "" if nobody does: a pod's host port would cut that one off. Optional.
	PortInUse func(protocol string, address netip.Addr, port uint16) string

	DNS DNS
	// PidsLimit is how many processes a pod may have, 0 for no limit.
	PidsLimit int64
	// SeccompDefault gives containers that ask for none the runtime's seccomp profile.
	SeccompDefault bool
	// NoCPUQuota leaves CPU limits unenforced (cpuCFSQuota: false).
	NoCPUQuota bool
	// UnsafeSysctls are those that pods may set besides the safe ones; * at the end stands for anything.
	UnsafeSysctls []string
	// LogSize is at which size in bytes a log is rotated, 10 Mi when 0; LogFiles how many there are of it, 5 when 0.
	LogSize  int64
	LogFiles int
}

// DNS is what the resolv.conf of pods says.
type DNS struct {
	Servers []string // of the cluster; none: pods use the node's
	Domain  string   // of the cluster, such as cluster.local
	// ResolvConf is the node's file, /etc/resolv.conf when empty.
	ResolvConf string
	// UpstreamResolvConf is where the servers are that a resolver of the node's own asks, which pods do not reach:
	// systemd-resolved's file when empty.
	UpstreamResolvConf string
}

// validate checks the options and fills in what they leave out.
func (o *Options) validate() error {
	switch {
	case o.Service == nil:
		return errors.New("pods: Service: must be given")
	case o.NodeName == "":
		return errors.New("pods: NodeName: must be given")
	case o.Node == nil:
		return errors.New("pods: Node: must be given")
	case !filepath.IsAbs(o.Root):
		return errors.New("pods: Root: must be an absolute path")
	case o.Images == nil:
		return errors.New("pods: Images: must be given")
	case o.Volumes == nil:
		return errors.New("pods: Volumes: must be given")
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
