package stats

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/diskusage"
	"github.com/berthproject/berth/agent/volume"
	"github.com/berthproject/berth/engine/nodepressure"
)

// diskUse is the disk usage of a pod.
type diskUse struct {
	at         time.Time
	containers []containerDisk
	files      nodepressure.FsStats // shared by all containers
	volumes    []volume.Usage
	total      int64 // bytes of ephemeral storage
}

// containerDisk is the disk usage of a container.
type containerDisk struct {
	name         string
	rootfs, logs nodepressure.FsStats
}

// Measure measures the disk usage of the pods. It walks their logs, files and volumes and reads
// their writable layers from the runtime, which can be slow. If a part fails, the others are still
// measured.
func (p *Pods) Measure(ctx context.Context, list []*corev1.Pod) error {
	layers, err := p.layers(ctx, nil)
	errs := []error{err}
	for _, pod := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		errs = append(errs, p.measureAndStore(ctx, pod, layers[string(pod.UID)]))
	}
	p.mu.Lock()
	p.measured = time.Now()
	p.mu.Unlock()
	return errors.Join(errs...)
}

// MeasurePod measures the disk usage of one pod.
func (p *Pods) MeasurePod(ctx context.Context, pod *corev1.Pod) error {
	layers, err := p.layers(ctx, map[string]string{labelUID: string(pod.UID)})
	if err != nil {
		return err
	}
	return p.measureAndStore(ctx, pod, layers[string(pod.UID)])
}

// measureAndStore measures a pod and stores the result for Observe.
func (p *Pods) measureAndStore(ctx context.Context, pod *corev1.Pod, layers containerLayers) error {
	use, err := p.measure(ctx, pod, layers)
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.entries[pod.UID]; e != nil {
		e.disk = use
	} else {
		p.entries[pod.UID] = &podEntry{path: p.opts.Cgroup(pod), disk: use}
	}
	return err
}

// Measured returns the time at which Measure last finished, or zero.
func (p *Pods) Measured() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.measured
}

// measure measures one pod.
func (p *Pods) measure(ctx context.Context, pod *corev1.Pod, layers containerLayers) (*diskUse, error) {
	use := &diskUse{at: time.Now()}
	for _, name := range containerNames(pod) {
		c := containerDisk{name: name, rootfs: layers.usage[name]}
		for _, id := range layers.running[name] {
			add(&c.rootfs, p.deletedFiles(ctx, pod, id))
		}
		if p.opts.LogDir != nil {
			add(&c.logs, MeasureDir(filepath.Join(p.opts.LogDir(pod), name)))
		}
		if p.opts.MessageDir != nil {
			add(&c.logs, MeasureDir(p.opts.MessageDir(pod, name)))
		}
		use.containers = append(use.containers, c)
		use.total += c.rootfs.Bytes + c.logs.Bytes
	}
	if p.opts.Files != nil {
		for _, file := range p.opts.Files(pod) {
			add(&use.files, diskusage.MeasureFile(file))
		}
		use.total += use.files.Bytes
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

// add adds a measurement to the usage of a file system.
func add(sum *nodepressure.FsStats, u DirUsage) {
	*sum = nodepressure.FsStats{Known: true, Bytes: sum.Bytes + u.Bytes, Inodes: sum.Inodes + u.Inodes}
}

func containerNames(pod *corev1.Pod) (out []string) {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			out = append(out, list[i].Name)
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		out = append(out, pod.Spec.EphemeralContainers[i].Name)
	}
	return out
}

// addTo adds the disk usage to the stats of a pod.
func (d *diskUse) addTo(s *nodepressure.PodStats) {
	s.EphemeralKnown, s.Ephemeral, s.Files = true, d.total, d.files
	for _, c := range d.containers {
		i := slices.IndexFunc(s.Containers, func(container nodepressure.ContainerStats) bool { return container.Name == c.name })
		if i < 0 {
			i = len(s.Containers)
			s.Containers = append(s.Containers, nodepressure.ContainerStats{Name: c.name})
		}
		s.Containers[i].RootFs, s.Containers[i].Logs = c.rootfs, c.logs
	}
	for i := range d.volumes {
		v := &d.volumes[i]
		s.Volumes = append(s.Volumes, nodepressure.VolumeStats{
			Name: v.Name, Claim: v.Claim, Limit: v.Limit, FsStats: nodepressure.FsStats{Known: true, Bytes: v.Bytes, Inodes: v.Inodes},
		})
	}
}
