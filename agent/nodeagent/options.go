package nodeagent

import (
	"errors"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/config"
)

// DefaultRoot is the agent's directory unless it is told otherwise.
const DefaultRoot = "/var/lib/berth/agent"

// Options of a real node.
type Options struct {
	// Name of the node.
	Name string
	// Config reaches the API server with the node's own credential, which the node's own server shows, too.
	Config *rest.Config
	// Endpoint is the socket of the container runtime.
	Endpoint string
	// Embedded has pods run without one, by the embedded runtime: then Endpoint says nothing.
	Embedded *Embedded
	// Root is the agent's directory; Logs that of the pods' logs, log/pods in Root when empty.
	Root, Logs string
	// Cgroup is what the node is confined to, / being the machine.
	Cgroup string
	// Labels and Taints to register the node with.
	Labels map[string]string
	Taints []corev1.Taint
	// Address of the node; that of the machine when empty.
	Address string
	// PodCIDR is what its pods' addresses are of, if that is known.
	PodCIDR string
	// Port of the node's server; 0: any.
	Port int
	// LowDisk is the disk reserve in MiB: with less available no new pods are taken.
	LowDisk int64
	// Fresh says that the node is new whatever the API has of it: its disk is another one.
	Fresh bool
	// OnStart is told once how the node runs, in words; may be nil.
	OnStart func(words string)
	// OnStop is told once, when the node's agent ends as it was asked to, how many pods run on; may be nil.
	OnStop func(pods int)
	// Nodes are the settings of Berth's agents.
	Nodes config.Nodes
	// Kubelet is what a KubeletConfiguration says, Pressure Berth's own options of it.
	Kubelet  config.Kubelet
	Pressure nodepressure.Options
	Log      klog.Logger
}

func (o *Options) validate() error {
	switch {
	case o.Name == "":
		return errors.New("real node: Name: must be given")
	case o.Config == nil:
		return fmt.Errorf("real node %s: Config: must be given", o.Name)
	case !filepath.IsAbs(o.Root):
		return fmt.Errorf("real node %s: Root %q: must be an absolute path", o.Name, o.Root)
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
	if o.OnStop == nil {
		o.OnStop = func(int) {}
	}
	return nil
}
