package real

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/pods"
	agentpressure "github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/engine/pressure"
)

// makePressure makes the watch over what the node runs short of.
func (n *node) makePressure(ctx context.Context) (err error) {
	o := &n.opts
	// Figures are read, and alarms set, in the cgroup of all pods: it is there before the first pod.
	if err := n.host.Make(pods.GroupOfPods(o.Cgroup), cgroup.Limits{}); err != nil {
		return fmt.Errorf("node %s: %w", o.Name, err)
	}
	n.stats = stats.NewPods(stats.Options{Host: n.host, Volumes: n.volumes, Containers: n.service,
		Cgroup: func(p *corev1.Pod) string { return pods.Cgroup(o.Cgroup, p) },
		Logs:   func(p *corev1.Pod) string { return pods.LogDir(o.Logs, p) },
	})
	n.close = append(n.close, n.stats.Close)
	nodeFs, imageFs, layout, err := n.disks(ctx)
	if err != nil {
		return err
	}
	n.nodeFs, n.imageFs = nodeFs, imageFs
	config := o.Kubelet.Pressure
	config.Layout, config.Options = layout, o.Pressure
	metrics := agentpressure.NewMetrics()
	n.registry.MustRegister(metrics)
	n.pressure, err = agentpressure.New(agentpressure.Options{
		Node: o.Name, Host: n.host, Cgroup: o.Cgroup, Pods: pods.GroupOfPods(o.Cgroup),
		Config: config, Reserve: reserve(o.LowDisk), Stats: n.stats,
		NodeFs: nodeFs, ImageFs: imageFs, ContainerFs: imageFs,
		Collect: func(ctx context.Context, containers, images bool) error {
			return n.collector.Reclaim(ctx, containers, images)
		},
		Events: n.events, Log: o.Log, Metrics: metrics,
	})
	return err
}

// disks are the file systems of the agent's directory and of the images.
func (n *node) disks(ctx context.Context) (nodeFs, imageFs *stats.Disk, layout pressure.Layout, err error) {
	info, err := n.service.ImageFsInfo(ctx)
	if err != nil {
		return nil, nil, layout, fmt.Errorf("node %s: where its images are: %w", n.opts.Name, err)
	}
	nodeFs = stats.NewDisk(n.opts.Root)
	imageFs = nodeFs
	for _, f := range info.GetImageFilesystems() {
		if dir := f.GetFsId().GetMountpoint(); dir != "" {
			imageFs = stats.NewDisk(dir)
			apart, err := different(n.opts.Root, dir)
			if err != nil {
				return nil, nil, layout, fmt.Errorf("node %s: %w", n.opts.Name, err)
			}
			layout.DedicatedImageFs = apart
			break
		}
	}
	return nodeFs, imageFs, layout, nil
}

// different says whether two directories are on different file systems.
func different(a, b string) (bool, error) {
	var at, bt unix.Stat_t
	if err := unix.Stat(a, &at); err != nil {
		return false, fmt.Errorf("%s: %w", a, err)
	}
	if err := unix.Stat(b, &bt); err != nil {
		return false, fmt.Errorf("%s: %w", b, err)
	}
	return at.Dev != bt.Dev, nil
}

// reserve is what must be free on both file systems, given in MiB.
func reserve(mib int64) pressure.ReserveConfig {
	r := pressure.ReserveConfig{Transition: pressure.DefaultReserveTransition}
	for f := range r.Bytes {
		r.Bytes[f] = mib << 20
	}
	return r
}
