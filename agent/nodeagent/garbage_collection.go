//go:build linux

package nodeagent

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
	"github.com/berthproject/berth/agent/image/gc"
	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/internal/config"
)

// listImagesTimeout bounds the image listing for the node's status.
const listImagesTimeout = 10 * time.Second

// newCollector creates the garbage collector and the reporter of disk usage.
func (n *node) newCollector(ctx context.Context) (err error) {
	o := &n.opts
	pinned := []string{containerd.PauseImage}
	sandboxImage, err := n.runtime.SandboxImage(ctx)
	if err != nil {
		return fmt.Errorf("node %s: reading the sandbox image: %w", o.Name, err)
	}
	if sandboxImage != "" {
		pinned = append(pinned, sandboxImage)
	}
	metrics := gc.NewMetrics()
	n.registry.MustRegister(metrics)
	n.collector, err = gc.New(gc.Options{
		Service: n.runtime, ImageFs: n.imageFs, Policy: imageGCPolicy(o.Kubelet.Images), PinnedImages: pinned, BallastFile: n.ballastFile(), Containers: n.runner,
		IsPodFinished: n.podFinished,
		VolumeImages:  func() []string { return gc.VolumeImages(n.agent.Pods(o.Name)) },
		RecordEvent: func(eventType, reason, message string) {
			n.events.Event(n.nodeRef(), eventType, reason, message)
		},
		Log: o.Log, Metrics: metrics, OnChange: n.reportStatus,
	})
	if err != nil {
		return fmt.Errorf("node %s: %w", o.Name, err)
	}
	n.disk, err = disk.New(disk.Options{Node: o.Name, Service: n.runtime, Layers: n.runtime, NodeFs: n.nodeFs, ImageFs: n.imageFs,
		Root: o.Root, LogRoot: o.Logs, Pods: n.runner.Pods, Volumes: n.volumes, PinnedImages: pinned})
	return err
}

// imageGCPolicy converts the image settings of a KubeletConfiguration to a policy. The settings for
// containers are the kubelet's defaults.
func imageGCPolicy(c config.ImageCollection) gc.Policy {
	p := gc.DefaultPolicy()
	p.HighThresholdPercent, p.LowThresholdPercent, p.MinAge, p.MaxAge = int(c.HighPercent), int(c.LowPercent), c.MinimumAge, c.MaximumAge
	return p
}

// podFinished reports whether the API server has the pod in a terminal phase. It returns false
// until the agent has listed its pods.
func (n *node) podFinished(uid types.UID) bool {
	return slices.ContainsFunc(n.boundPods(), func(p *corev1.Pod) bool {
		return p.UID == uid && (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed)
	})
}

// ballastFile returns the path of the ballast file. It is on the file system of the images if that
// is separate.
func (n *node) ballastFile() string {
	dir := n.opts.Root
	if n.imageFs != n.nodeFs {
		if separate, err := onDifferentFilesystems(n.opts.Root, n.imageFs.Dir()); err == nil && separate {
			dir = filepath.Dir(n.imageFs.Dir())
			if isMountPoint, err := onDifferentFilesystems(dir, n.imageFs.Dir()); err == nil && isMountPoint {
				dir = n.imageFs.Dir()
			}
		}
	}
	return filepath.Join(dir, "berth.ballast")
}

// imagePulled is called after each image pull.
func (n *node) imagePulled() {
	n.collector.ImagePulled()
	n.reportStatus()
}

// reportStatus requests an update of the node's status.
func (n *node) reportStatus() { n.agent.Report(n.opts.Name) }

// images returns the images for the node's status, or the last list if the runtime is
// unavailable.
func (n *node) images(string) []corev1.ContainerImage {
	ctx, cancel := context.WithTimeout(context.Background(), listImagesTimeout)
	defer cancel()
	list, err := image.List(ctx, n.runtime, int(n.opts.Kubelet.NodeStatusImages))
	if err != nil {
		n.opts.Log.Error(err, "Failed to list images, keeping the last list in the node's status")
		if last := n.lastImages.Load(); last != nil {
			return *last
		}
		return nil
	}
	n.lastImages.Store(&list)
	return list
}
