//go:build linux

package pressure

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/engine/nodepressure"
)

// Options configures a Manager. Node, Host, Cgroup, Pods and Stats are required.
type Options struct {
	// Node is the name of the node.
	Node string
	Host *cgroup.Host
	// Cgroup is the node's cgroup, "/" for a whole machine. Pods is the cgroup of all pods.
	Cgroup, Pods string
	// Config configures the nodepressure.Machine. Reserve is the disk space to keep free.
	Config  nodepressure.Config
	Reserve nodepressure.DiskReserveConfig
	// Stats reads the statistics of pods.
	Stats *stats.Pods
	// NodeFs is the file system of the agent's directory, ImageFs that of images, ContainerFs that of
	// writable layers. Optional: nil file systems are not monitored.
	NodeFs, ImageFs, ContainerFs *stats.Disk
	// Collect deletes terminated containers and unused images. Optional.
	Collect func(ctx context.Context, containers, images bool) error
	// Purge deletes the data of an evicted pod without processes, so that its disk space is free.
	// Optional.
	Purge func(pod types.UID)
	// Events records events about the node and its pods. Optional.
	Events record.EventRecorder
	Log    klog.Logger
	// Metrics is optional.
	Metrics *Metrics
	// NoAlarm disables the kernel's alarm, for measurements.
	NoAlarm bool
	// MaxInterval and MinInterval bound the polling interval. The defaults are 1 s and 10 ms.
	MaxInterval, MinInterval time.Duration
	// OnKill is called right after SIGKILL was sent to a pod's cgroup. Optional, for measurements.
	OnKill func(pod *corev1.Pod, at time.Time)
}

// Agent stops pods and writes the node's status. *agent.Agent implements it. The methods do not
// block.
type Agent interface {
	Evict(agent.Eviction)
	// Pods returns the node's pods that use its resources, in a fixed order.
	Pods(node string) []*corev1.Pod
	// Report requests an update of the node's status.
	Report(node string)
}

// validate checks the required options and sets the defaults of the others.
func (o *Options) validate() error {
	switch {
	case o.Node == "":
		return errors.New("pressure: Node: required")
	case o.Host == nil:
		return errors.New("pressure: Host: required")
	case o.Cgroup == "" || o.Pods == "":
		return errors.New("pressure: Cgroup and Pods: required")
	case o.Stats == nil:
		return errors.New("pressure: Stats: required")
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
