package stats

import (
	"context"
	"fmt"
	"path"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/diskusage"
	"github.com/berthproject/berth/engine/nodepressure"
)

// Labels of CRI containers.
const (
	labelUID       = "io.kubernetes.pod.uid"
	labelContainer = "io.kubernetes.container.name"
)

// containerLayers are the writable layers of a pod, by container.
type containerLayers struct {
	usage   map[string]nodepressure.FsStats // of all instances, because terminated ones keep their layer
	running map[string][]string             // IDs of running instances
}

// layers returns the writable layers of containers with the labels, by pod.
func (p *Pods) layers(ctx context.Context, labels map[string]string) (map[string]containerLayers, error) {
	out := map[string]containerLayers{}
	if p.opts.Containers == nil {
		return out, nil
	}
	list, err := p.opts.Containers.ListContainers(ctx, &cri.ContainerFilter{LabelSelector: labels})
	if err != nil {
		return nil, fmt.Errorf("listing containers to measure their writable layers: %w", err)
	}
	var layerErr error
	for _, c := range list {
		layer, err := p.opts.Containers.WritableLayer(ctx, c.GetId())
		switch status.Code(err) {
		case codes.OK:
		case codes.Unimplemented: // the runtime cannot measure single layers
			return p.reportedLayers(ctx, labels)
		case codes.NotFound:
			continue // removed in the meantime
		default:
			layerErr = fmt.Errorf("writable layer of container %s: %w", c.GetId(), err)
			continue
		}
		l := layersOf(out, c.GetLabels())
		name := c.GetLabels()[labelContainer]
		used := l.usage[name]
		add(&used, DirUsage{Bytes: layer.Bytes, Inodes: layer.Inodes})
		l.usage[name] = used
		if c.GetState() == cri.ContainerState_CONTAINER_RUNNING {
			l.running[name] = append(l.running[name], c.GetId())
		}
	}
	return out, layerErr
}

// layersOf returns the entry of a container's pod.
func layersOf(byPod map[string]containerLayers, labels map[string]string) containerLayers {
	l, ok := byPod[labels[labelUID]]
	if !ok {
		l = containerLayers{usage: map[string]nodepressure.FsStats{}, running: map[string][]string{}}
		byPod[labels[labelUID]] = l
	}
	return l
}

// reportedLayers returns the last measurements of the runtime.
func (p *Pods) reportedLayers(ctx context.Context, labels map[string]string) (map[string]containerLayers, error) {
	list, err := p.opts.Containers.ListContainerStats(ctx, &cri.ContainerStatsFilter{LabelSelector: labels})
	if err != nil {
		return nil, fmt.Errorf("reading writable layers of containers: %w", err)
	}
	out := map[string]containerLayers{}
	for _, c := range list {
		l, name := layersOf(out, c.GetAttributes().GetLabels()), c.GetAttributes().GetLabels()[labelContainer]
		l.running[name] = append(l.running[name], c.GetAttributes().GetId())
		if w := c.GetWritableLayer(); w != nil {
			used := l.usage[name]
			add(&used, DirUsage{Bytes: int64(w.GetUsedBytes().GetValue()), Inodes: int64(w.GetInodesUsed().GetValue())})
			l.usage[name] = used
		}
	}
	return out, nil
}

// deletedFiles measures the deleted files that a running container keeps open.
func (p *Pods) deletedFiles(ctx context.Context, pod *corev1.Pod, id string) DirUsage {
	if p.opts.PodDir == nil {
		return DirUsage{}
	}
	pids, err := p.opts.Host.Procs(path.Join(p.opts.Cgroup(pod), id))
	if err != nil || len(pids) == 0 {
		return DirUsage{}
	}
	var disk syscall.Stat_t
	if err := syscall.Stat(p.opts.PodDir(pod), &disk); err != nil {
		return DirUsage{}
	}
	return diskusage.MeasureDeleted(ctx, pids, uint64(disk.Dev))
}
