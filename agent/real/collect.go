package real

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/disk"
	"github.com/berthproject/berth/agent/image"
	"github.com/berthproject/berth/agent/image/collect"
	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/internal/config"
)

// listWithin bounds the wait for the runtime when the node's status is written.
const listWithin = 10 * time.Second

// makeCollector makes what removes unused images and dead containers, and what tells who holds the disks.
func (n *node) makeCollector(ctx context.Context) (err error) {
	o := &n.opts
	keep := []string{containerd.PauseImage}
	sandboxes, err := n.service.SandboxImage(ctx)
	if err != nil {
		return fmt.Errorf("node %s: which image its sandboxes run: %w", o.Name, err)
	}
	if sandboxes != "" {
		keep = append(keep, sandboxes)
	}
	metrics := collect.NewMetrics()
	n.registry.MustRegister(metrics)
	n.collector, err = collect.New(collect.Options{
		Service: n.service, ImageFs: n.imageFs, Policy: policy(o.Kubelet.Images), Keep: keep, Ballast: n.ballast(), Containers: n.runner,
		Finished:     n.finished,
		VolumeImages: func() []string { return collect.VolumeImages(n.agent.Pods(o.Name)) },
		Event: func(eventType, reason, message string) {
			n.events.Event(n.reference(), eventType, reason, message)
		},
		Log: o.Log, Metrics: metrics, Changed: n.report,
	})
	if err != nil {
		return fmt.Errorf("node %s: %w", o.Name, err)
	}
	n.disk, err = disk.New(disk.Options{Node: o.Name, Service: n.service, Layers: n.service, NodeFs: n.nodeFs, ImageFs: n.imageFs,
		Root: o.Root, Logs: o.Logs, Pods: n.runner.Pods, Volumes: n.volumes, Keep: keep})
	return err
}

// policy is what a KubeletConfiguration says of images, with the kubelet's rules for containers.
func policy(c config.ImageCollection) collect.Policy {
	p := collect.Default()
	p.HighPercent, p.LowPercent, p.MinAge, p.MaxAge = int(c.HighPercent), int(c.LowPercent), c.MinimumAge, c.MaximumAge
	return p
}

// finished says whether a pod has ended for good, as the API has it: before its pods are known, none has.
func (n *node) finished(uid types.UID) bool {
	return slices.ContainsFunc(n.bound(), func(p *corev1.Pod) bool {
		return p.UID == uid && (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed)
	})
}

// ballast is a file to give up when the disk of the images is full: beside the images where they have a
// disk to themselves.
func (n *node) ballast() string {
	dir := n.opts.Root
	if n.imageFs != n.nodeFs {
		if apart, err := different(n.opts.Root, n.imageFs.Dir()); err == nil && apart {
			dir = filepath.Dir(n.imageFs.Dir())
			if above, err := different(dir, n.imageFs.Dir()); err == nil && above { // the disk is mounted there
				dir = n.imageFs.Dir()
			}
		}
	}
	return filepath.Join(dir, "berth.ballast")
}

// imageCame is told when an image was pulled.
func (n *node) imageCame() {
	n.collector.Came()
	n.report()
}

// report has the node's status written soon: what it tells has changed.
func (n *node) report() { n.agent.Report(n.opts.Name) }

// imageList is what the node's status says of images; those told last when the runtime is away.
func (n *node) imageList(string) []corev1.ContainerImage {
	ctx, cancel := context.WithTimeout(context.Background(), listWithin)
	defer cancel()
	list, err := image.List(ctx, n.service, int(n.opts.Kubelet.NodeStatusImages))
	if err != nil {
		n.opts.Log.Error(err, "The node's status tells of the images that were there before")
		if last := n.listed.Load(); last != nil {
			return *last
		}
		return nil
	}
	n.listed.Store(&list)
	return list
}
