//go:build linux

package nodeagent

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/pods"
	"github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/agent/volume"
	"github.com/berthproject/berth/engine/nodepressure"
)

// newPressure creates the cgroup of all pods, their statistics and the eviction manager.
func (n *node) newPressure(ctx context.Context) (err error) {
	o := &n.opts
	// Statistics and alarms use the cgroup of all pods, which must exist before the first pod.
	enforced := slices.Contains(o.Kubelet.EnforceNodeAllocatable, "pods")
	if err := n.host.Create(cgroup.PodsPath(o.Cgroup), podsLimits(&o.Kubelet, n.object.Status.Capacity)); err != nil {
		if enforced {
			n.events.Event(n.nodeRef(), corev1.EventTypeWarning, "FailedNodeAllocatableEnforcement", fmt.Sprintf("Failed to update Node Allocatable Limits %q: %v", cgroup.PodsPath(o.Cgroup), err))
		}
		return fmt.Errorf("node %s: %w", o.Name, err)
	}
	if enforced {
		n.events.Event(n.nodeRef(), corev1.EventTypeNormal, "NodeAllocatableEnforced", "Updated Node Allocatable limit across pods")
	}
	if err := n.host.Thaw(cgroup.PodsPath(o.Cgroup)); err != nil { // a killed agent may have left cgroups frozen
		return fmt.Errorf("node %s: %w", o.Name, err)
	}
	n.stats = stats.NewPods(stats.Options{Host: n.host, Volumes: n.volumes, Containers: n.runtime,
		ExtraCgroups: []string{o.Cgroup, cgroup.PodsPath(o.Cgroup)},
		Cgroup:       func(p *corev1.Pod) string { return pods.Cgroup(o.Cgroup, p) },
		LogDir:       func(p *corev1.Pod) string { return pods.LogDir(o.Logs, p) },
		PodDir:       func(p *corev1.Pod) string { return pods.PodDir(o.Root, p.UID) },
		Files:        func(p *corev1.Pod) []string { return pods.SharedFiles(o.Root, p) },
		MessageDir:   func(p *corev1.Pod, container string) string { return pods.MessageDir(o.Root, p, container) },
	})
	n.closers = append(n.closers, n.stats.Close)
	config := o.Kubelet.Pressure
	if config.Layout, err = n.findFilesystems(ctx); err != nil {
		return err
	}
	config.Options = o.Pressure
	metrics := pressure.NewMetrics()
	n.registry.MustRegister(metrics)
	n.pressure, err = pressure.New(pressure.Options{
		Node: o.Name, Host: n.host, Cgroup: o.Cgroup, Pods: cgroup.PodsPath(o.Cgroup),
		Config: config, Reserve: n.reserveConfig(), Stats: n.stats,
		NodeFs: n.nodeFs, ImageFs: n.imageFs, ContainerFs: n.containerFs,
		Collect: func(ctx context.Context, containers, images bool) error {
			// Terminated containers also keep images, even if their layers are on another file system.
			return n.collector.Reclaim(ctx, containers || images, images)
		},
		Purge:  func(pod types.UID) { n.runner.Purge(pod) },
		Events: n.events, Log: o.Log, Metrics: metrics,
	})
	return err
}

// findFilesystems sets nodeFs, imageFs and containerFs and returns their layout.
func (n *node) findFilesystems(ctx context.Context) (layout nodepressure.Layout, err error) {
	info, err := n.runtime.ImageFsInfo(ctx)
	if err != nil {
		return layout, fmt.Errorf("node %s: reading the image file system: %w", n.opts.Name, err)
	}
	n.nodeFs = stats.NewDisk(n.opts.Root)
	n.imageFs = n.nodeFs
	if dir := mountpoint(info.GetImageFilesystems()); dir != "" {
		if layout.DedicatedImageFs, err = onDifferentFilesystems(n.opts.Root, dir); err != nil {
			return layout, fmt.Errorf("node %s: %w", n.opts.Name, err)
		}
		n.imageFs = stats.NewDisk(dir)
	}
	n.containerFs = n.imageFs
	if dir := mountpoint(info.GetContainerFilesystems()); dir != "" && layout.DedicatedImageFs {
		separate, err := onDifferentFilesystems(n.opts.Root, dir)
		if err != nil {
			return layout, fmt.Errorf("node %s: %w", n.opts.Name, err)
		}
		if !separate { // writable layers are with the pods' other files, apart from the images
			layout.DedicatedContainerFs, n.containerFs = true, n.nodeFs
		}
	}
	return layout, nil
}

// mountpoint returns the directory of the first file system that has one, or "".
func mountpoint(list []*cri.FilesystemUsage) string {
	for _, f := range list {
		if dir := f.GetFsId().GetMountpoint(); dir != "" {
			return dir
		}
	}
	return ""
}

// newSummarizer returns the source of the Summary API.
func (n *node) newSummarizer() *stats.Summarizer {
	o := &n.opts
	return &stats.Summarizer{Node: o.Name, Host: n.host, Cgroup: o.Cgroup, PodsCgroup: cgroup.PodsPath(o.Cgroup),
		List: func() []*corev1.Pod { return n.agent.Pods(o.Name) }, Pods: n.stats,
		NodeFs: n.nodeFs, ImageFs: n.imageFs, ContainerFs: n.containerFs, Started: n.started}
}

// onDifferentFilesystems reports whether two directories are on different file systems.
func onDifferentFilesystems(a, b string) (bool, error) {
	var aStat, bStat unix.Stat_t
	if err := unix.Stat(a, &aStat); err != nil {
		return false, fmt.Errorf("%s: %w", a, err)
	}
	if err := unix.Stat(b, &bStat); err != nil {
		return false, fmt.Errorf("%s: %w", b, err)
	}
	return aStat.Dev != bStat.Dev, nil
}

// reserveConfig returns the disk reserve of nodefs and imagefs.
func (n *node) reserveConfig() nodepressure.DiskReserveConfig {
	r := nodepressure.DiskReserveConfig{TransitionPeriod: n.opts.Kubelet.OutOfDiskTransition}
	for f := range r.Bytes {
		r.Bytes[f] = n.opts.LowDiskMiB << 20
	}
	r.Dirs[nodepressure.ImageFs], r.Dirs[nodepressure.RootFs] = n.imageFs.Dir(), n.nodeFs.Dir()
	return r
}

// claimReserve returns how many bytes must stay free on the file system of dir after the agent reserves the capacity of
// a claim there. The claim itself then causes no pressure on nodefs. capacity is the size of the file system in bytes.
// The claims of virtual nodes are not on a node's disk, so the node's thresholds do not apply to them.
func (o *Options) claimReserve(dir string, capacity int64) (int64, error) {
	reserve := int64(volume.MinDiskReserve)
	if separate, err := onDifferentFilesystems(o.Root, dir); err != nil || separate {
		return reserve, err
	}
	for _, t := range o.Kubelet.Pressure.Thresholds {
		if t.Signal == nodepressure.NodeFsAvailable {
			reserve = max(reserve, t.Value.Of(capacity).Amount)
		}
	}
	return reserve, nil
}
