//go:build linux

package nodeagent

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/disk"
	"github.com/berthproject/berth/agent/image"
	"github.com/berthproject/berth/agent/image/gc"
	"github.com/berthproject/berth/agent/pods"
	"github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/agent/probe"
	"github.com/berthproject/berth/agent/renewal"
	"github.com/berthproject/berth/agent/runtime/cri"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/agent/volume"
)

// node is a real node and its parts.
type node struct {
	opts     Options
	host     *cgroup.Host
	client   kubernetes.Interface
	runtime  *cri.Client
	listener net.Listener
	object   *corev1.Node
	events   record.EventRecorder
	registry *prometheus.Registry
	renewal  *renewal.Renewal
	agent    *agent.Agent
	runner   *pods.Runner
	puller   *image.Puller
	prober   *probe.Prober
	volumes  *volume.Volumes
	// staticPods receives the static pods of the node.
	staticPods chan []*corev1.Pod
	stats      *stats.Pods
	pressure   *pressure.Manager
	health     runtimeHealth
	started    time.Time
	// nodeFs is the file system of the agent's directory, imageFs that of images, containerFs that of
	// writable layers. They may be equal.
	nodeFs, imageFs, containerFs *stats.Disk
	collector                    *gc.Collector
	disk                         *disk.Reporter
	lastImages                   atomic.Pointer[[]corev1.ContainerImage]
	closers                      []func() // undo build; called in reverse order
}

// Run runs the node until ctx ends. Pods keep running.
func Run(ctx context.Context, o Options) error {
	if err := o.validate(); err != nil {
		return err
	}
	n := &node{opts: o, registry: prometheus.NewRegistry(), started: time.Now()}
	defer func() {
		for i := len(n.closers) - 1; i >= 0; i-- {
			n.closers[i]()
		}
	}()
	if err := n.build(ctx); err != nil {
		return err
	}
	server, err := n.newServer()
	if err != nil {
		return err
	}
	n.renewal.Start(ctx)
	o.OnStart(n.describe())
	if err := pods.CheckNameservers(o.Kubelet.ResolvConf); err != nil && len(o.Kubelet.ClusterDNS) == 0 {
		n.events.Event(n.nodeRef(), corev1.EventTypeWarning, "NoNameServers", err.Error())
	}
	if err := n.runParts(ctx, server.Run); err != nil {
		return err
	}
	n.reportRunningPods()
	return nil
}

func (n *node) describe() string {
	return fmt.Sprintf("container runtime %s; memory monitoring: %s; logs and metrics on port %d",
		n.object.Status.NodeInfo.ContainerRuntimeVersion, n.pressure.Describe(), n.object.Status.DaemonEndpoints.KubeletEndpoint.Port)
}

// runParts runs all parts until ctx ends or one of them returns.
func (n *node) runParts(parent context.Context, server func(context.Context) error) error {
	ctx, cancel := n.shutdownContext(parent, machineShuttingDown)
	defer cancel(nil)
	var wg sync.WaitGroup
	runPart := func(run func(context.Context) error) {
		wg.Go(func() { cancel(run(ctx)) })
	}
	runWithoutError := func(run func(context.Context)) {
		runPart(func(ctx context.Context) error { run(ctx); return nil })
	}
	runWithoutError(n.runner.Run)
	runWithoutError(n.prober.Run)
	runWithoutError(n.volumes.Run)
	runWithoutError(n.collector.Run)
	runWithoutError(n.readStaticPods)
	runWithoutError(func(ctx context.Context) {
		n.health.watch(ctx, n.runtime.Status, func() { n.agent.Report(n.opts.Name) })
	})
	runWithoutError(n.watchAddresses)
	runPart(func(ctx context.Context) error { return n.pressure.Run(ctx, n.agent) })
	runPart(server)
	runPart(n.agent.Run)
	wg.Wait()
	if err := context.Cause(ctx); parent.Err() == nil && err != context.Canceled {
		return err
	}
	return nil
}
