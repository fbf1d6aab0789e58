package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/config"
)

// DefaultRoot is the default directory of the agent.
const DefaultRoot = "/var/lib/berth/agent"

// Options configures a real node.
type Options struct {
	// Name is the name of the node.
	Name string
	// Config connects to the API server with the node's credential. The node's server uses the same
	// certificate.
	Config *rest.Config
	// Endpoint is the socket of the container runtime.
	Endpoint string
	// Embedded selects the embedded runtime; Endpoint is ignored then.
	Embedded *Embedded
	// Root is the agent's directory. Logs is the directory of pod logs, by default Root/log/pods.
	Root, Logs string
	// Cgroup is the cgroup of the node, by default "/", the whole machine.
	Cgroup string
	// Labels and Taints are those with which the agent registers the node.
	Labels map[string]string
	Taints []corev1.Taint
	// Address is the node's internal IP. The default is the machine's address.
	Address string
	// PodCIDR is the range of pod addresses to register the node with, or "" if the cluster
	// allocates one.
	PodCIDR string
	// PodCIDRTimeout is how long the node waits until a controller allocates its range. Then it
	// chooses one itself. With 0 it does not wait; with a negative value it waits without limit.
	// Only the networks that the agent creates need a range.
	PodCIDRTimeout time.Duration
	// Port is the port of the node's server; 0 picks any.
	Port int
	// InsecureRegistries may use plain HTTP, as HOST or HOST:PORT. Only the embedded runtime uses them.
	InsecureRegistries []string
	// LowDiskMiB is the disk reserve in MiB. With less free space the node rejects new pods.
	LowDiskMiB int64
	// Fresh makes the agent ignore the conditions in the Node object, because the node has a new
	// disk.
	Fresh bool
	// NoClusterDNS means that the cluster cannot have DNS. Pods get no warning that it is missing.
	NoClusterDNS bool
	// AwaitEndpoints blocks until Services send no new connections to the addresses of a pod, or ctx
	// ends. Optional.
	AwaitEndpoints func(ctx context.Context, addresses []string)
	// OnStart is called once with a description of how the node runs. Optional.
	OnStart func(message string)
	// OnWait is called with the reason if the node waits for its range of pod addresses. Optional.
	OnWait func(message string)
	// OnStop is called once after a regular stop with the number of pods that keep running. Optional.
	OnStop func(pods int)
	// Nodes is the section nodes of the BerthConfiguration.
	Nodes config.Nodes
	// Kubelet is the KubeletConfiguration. Pressure holds Berth's own eviction options.
	Kubelet  config.Kubelet
	Pressure nodepressure.Options
	Log      klog.Logger

	// startRuntime starts a container runtime whose network is PodCIDR and sets Endpoint. Optional.
	startRuntime func(ctx context.Context, o *Options) error
	// claimBytes limits the total capacity of the node's claims; 0 means no limit.
	claimBytes int64
	// virtualBridge is the bridge of that network.
	virtualBridge string
	// rangeAddress selects the bridge's address, the first of PodCIDR, as the node's internal IP.
	// Nodes on one machine then have different addresses.
	rangeAddress bool
}

// validate checks the required options and sets the defaults of the others.
func (o *Options) validate() error {
	switch {
	case o.Name == "":
		return errors.New("node: Name: required")
	case o.Config == nil:
		return fmt.Errorf("node %s: Config: required", o.Name)
	case !filepath.IsAbs(o.Root):
		return fmt.Errorf("node %s: Root %q: must be an absolute path", o.Name, o.Root)
	}
	if o.Logs == "" {
		o.Logs = filepath.Join(o.Root, "log", "pods")
	}
	if o.Cgroup == "" {
		o.Cgroup = "/"
	}
	if o.OnStart == nil {
		o.OnStart = func(string) {}
	}
	if o.OnWait == nil {
		o.OnWait = func(string) {}
	}
	if o.OnStop == nil {
		o.OnStop = func(int) {}
	}
	return nil
}

// Embedded configures the embedded runtime. Empty fields have defaults.
type Embedded struct {
	// Dir holds sandboxes, containers and their writable layers. The default is Options.Root/runtime.
	Dir string
	// Images is the image store. The default is Options.Root/images.
	Images string
	// Builtin is the store of the built-in images, which several nodes may share. The default is
	// Images.
	Builtin string
	// Bridge is the network bridge of the pods. The default name is derived from Options.Root.
	Bridge string
}
