package stats

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/volume"
	"github.com/berthproject/berth/engine/nodepressure"
)

// Labels of CRI containers.
const (
	labelUID       = "io.kubernetes.pod.uid"
	labelContainer = "io.kubernetes.container.name"
)

// diskUse is the disk usage of a pod.
type diskUse struct {
	at         time.Time
	containers []containerDisk
	volumes    []volume.Usage
	total      int64 // bytes of ephemeral storage
}

// containerDisk is the disk usage of a container.
type containerDisk struct {
	name         string
	rootfs, logs nodepressure.FsStats
}

// Measure measures the disk usage of the pods: it walks their logs and volumes and reads their
// writable layers from the runtime, which can be slow. If a part fails, the others are still
// measured.
func (p *Pods) Measure(ctx context.Context, list []*corev1.Pod) error {
	layers, err := p.layers(ctx)
	errs := []error{err}
	for _, pod := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		use, err := p.measure(pod, layers[string(pod.UID)])
		errs = append(errs, err)
		p.mu.Lock()
		if e := p.entries[pod.UID]; e != nil {
			e.disk = use
		} else {
			p.entries[pod.UID] = &podEntry{path: p.opts.Cgroup(pod), disk: use}
		}
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.measured = time.Now()
	p.mu.Unlock()
	return errors.Join(errs...)
}

// Measured returns when Measure last finished, or zero.
func (p *Pods) Measured() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.measured
}

// layers returns the writable layers by pod and container, of the newest instance.
func (p *Pods) layers(ctx context.Context) (map[string]map[string]nodepressure.FsStats, error) {
	if p.opts.Containers == nil {
		return nil, nil
	}
	list, err := p.opts.Containers.ListContainerStats(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("reading writable layers of containers: %w", err)
	}
	out := map[string]map[string]nodepressure.FsStats{}
	newest := map[[2]string]uint32{}
	for _, c := range list {
		labels := c.GetAttributes().GetLabels()
		uid, name := labels[labelUID], labels[labelContainer]
		attempt := c.GetAttributes().GetMetadata().GetAttempt()
		if w := c.GetWritableLayer(); w == nil || newest[[2]string{uid, name}] > attempt {
			continue
		}
		newest[[2]string{uid, name}] = attempt
		if out[uid] == nil {
			out[uid] = map[string]nodepressure.FsStats{}
		}
		out[uid][name] = layer(c.WritableLayer)
	}
	return out, nil
}

func layer(w *cri.FilesystemUsage) nodepressure.FsStats {
	return nodepressure.FsStats{Known: true, Bytes: int64(w.GetUsedBytes().GetValue()), Inodes: int64(w.GetInodesUsed().GetValue())}
}

// measure measures one pod.
func (p *Pods) measure(pod *corev1.Pod, layers map[string]nodepressure.FsStats) (*diskUse, error) {
	use := &diskUse{at: time.Now()}
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			c := containerDisk{name: list[i].Name, rootfs: layers[list[i].Name]}
			if p.opts.LogDir != nil {
				h := MeasureDir(filepath.Join(p.opts.LogDir(pod), c.name))
				c.logs = nodepressure.FsStats{Known: true, Bytes: h.Bytes, Inodes: h.Inodes}
			}
			use.containers = append(use.containers, c)
			use.total += c.rootfs.Bytes + c.logs.Bytes
		}
	}
	if p.opts.Volumes == nil {
		return use, nil
	}
	var err error
	if use.volumes, err = p.opts.Volumes.Usage(pod.UID); err != nil {
		return use, fmt.Errorf("volumes of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	for i := range use.volumes {
		if use.volumes[i].Local {
			use.total += use.volumes[i].Bytes
		}
	}
	return use, nil
}

// addTo adds the disk usage to the stats of a pod.
func (d *diskUse) addTo(s *nodepressure.PodStats) {
	s.EphemeralKnown, s.Ephemeral = true, d.total
	for _, c := range d.containers {
		at := -1
		for i := range s.Containers {
			if s.Containers[i].Name == c.name {
				at = i
			}
		}
		if at < 0 {
			s.Containers = append(s.Containers, nodepressure.ContainerStats{Name: c.name})
			at = len(s.Containers) - 1
		}
		s.Containers[at].RootFs, s.Containers[at].Logs = c.rootfs, c.logs
	}
	for i := range d.volumes {
		v := &d.volumes[i]
		s.Volumes = append(s.Volumes, nodepressure.VolumeStats{
			Name: v.Name, FsStats: nodepressure.FsStats{Known: true, Bytes: v.Bytes, Inodes: v.Inodes},
		})
	}
}
