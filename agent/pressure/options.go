package pressure

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/engine/nodepressure"
)

// Options of a Shell. What is not marked optional must be given.
type Options struct {
	// Node is whose conditions are kept; its name is in events.
	Node string
	Host *cgroup.Host
	// Cgroup is the node's, "/" for a whole machine; Pods the one of all of its pods.
	Cgroup, Pods string
	// Config is what the machine goes by, Reserve what must be free on disk.
	Config  nodepressure.Config
	Reserve nodepressure.DiskReserveConfig
	// Stats reads the pods' figures.
	Stats *stats.Pods
	// NodeFs is the file system of the agent's directory, ImageFs that of the images,
	// ContainerFs that of writable layers. Optional: what is nil is not watched.
	NodeFs, ImageFs, ContainerFs *stats.Disk
	// Collect deletes what nobody uses. Optional: without it nothing is collected.
	Collect func(ctx context.Context, containers, images bool) error
	// Events records events about node and pods; optional.
	Events record.EventRecorder
	Log    klog.Logger
	// Metrics are optional.
	Metrics *Metrics
	// NoAlarm leaves everything to the clock, for measurements.
	NoAlarm bool
	// MaxInterval and Fast bound the pace; 1 s and 10 ms when 0.
	MaxInterval, MinInterval time.Duration
	// OnKill is called right after SIGKILL was sent to a pod's cgroup; optional, for measurements.
	OnKill func(pod *corev1.Pod, at time.Time)
}

// Agent is what ends pods and writes the node's status; *agent.Agent is one. Its
// methods return at once.
type Agent interface {
	Evict(agent.Eviction)
	// Pods are the node's pods that take room on it, in a fixed order.
	Pods(node string) []*corev1.Pod
	// Report has the node's status written soon.
	Report(node string)
}

func (o *Options) validate() error {
	switch {
	case o.Node == "":
		return errors.New("pressure: Node: must be given")
	case o.Host == nil:
		return errors.New("pressure: Host: must be given")
	case o.Cgroup == "" || o.Pods == "":
		return errors.New("pressure: Cgroup and Pods: must be given")
	case o.Stats == nil:
		return errors.New("pressure: Stats: must be given")
	}
	if o.MaxInterval == 0 {
		o.MaxInterval = time.Second
	}
	if o.MinInterval == 0 {
		o.MinInterval = 10 * time.Millisecond
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	return nil
}
