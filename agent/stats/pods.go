package stats

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/volume"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/conversion"
)

// Options configures Pods. Host and Cgroup are required.
type Options struct {
	Host *cgroup.Host
	// Cgroup returns the cgroup of a pod; each container has a child named by its ID.
	Cgroup func(*corev1.Pod) string
	// ExtraCgroups are further cgroups whose CPU time is sampled: that of the node and of all pods.
	ExtraCgroups []string
	// LogDir returns the log directory of a pod; nil: logs are not measured.
	LogDir func(*corev1.Pod) string
	// PodDir returns the agent's directory of a pod. Deleted files on its file system count while a
	// container has them open; nil: they are not measured.
	PodDir func(*corev1.Pod) string
	// Files returns the files that the agent mounts into all containers of a pod; nil: none.
	Files func(*corev1.Pod) []string
	// MessageDir returns the directory of a container's termination messages; nil: they are not
	// measured.
	MessageDir func(pod *corev1.Pod, container string) string
	// Volumes measures a pod's volumes; nil: volumes are not measured.
	Volumes interface {
		Usage(types.UID) ([]volume.Usage, error)
	}
	// Containers measures writable layers; nil: layers are not measured.
	Containers interface {
		ListContainers(context.Context, *cri.ContainerFilter) ([]*cri.Container, error)
		// WritableLayer measures now. It may return Unimplemented.
		WritableLayer(ctx context.Context, id string) (runtime.Layer, error)
		ListContainerStats(context.Context, *cri.ContainerStatsFilter) ([]*cri.ContainerStats, error)
	}
}

// Pods reads the usage of pods. It is safe for concurrent use.
type Pods struct {
	opts       Options
	mu         sync.Mutex
	converter  *conversion.Converter
	entries    map[types.UID]*podEntry
	generation uint64
	out        []nodepressure.Pod    // result of Observe, reused by the next call
	extraCPU   map[string]cpuSamples // by path of Options.ExtraCgroups
	// measured is the time of the last complete Measure.
	measured time.Time
}

// podEntry is the state of a pod.
type podEntry struct {
	pod         *corev1.Pod
	observation nodepressure.Pod
	stats       nodepressure.PodStats // written only by Observe, whose caller reads it without the lock
	path        string
	group       *cgroup.Group
	containers  []containerEntry
	generation  uint64
	memory      cgroup.Memory
	cpu         cpuSamples
	disk        *diskUse // nil until measured
}

// containerEntry is the state of a container.
type containerEntry struct {
	name, id string
	group    *cgroup.Group
	memory   cgroup.Memory
	cpu      cpuSamples
}

// NewPods returns a Pods that has not opened any files.
func NewPods(o Options) *Pods {
	return &Pods{opts: o, converter: conversion.New(), entries: map[types.UID]*podEntry{}, extraCPU: map[string]cpuSamples{}}
}

// Close closes all files.
func (p *Pods) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for uid, e := range p.entries {
		e.close()
		delete(p.entries, uid)
	}
}

// Observe reads memory and processes of the pods and adds their last measured disk usage.
// terminatesBy returns the end of a terminating pod's grace period, or zero for other pods. The
// result is in the order of list and valid until the next call. Observe removes the state of pods that
// are not in list.
func (p *Pods) Observe(list []*corev1.Pod, terminatesBy func(types.UID) time.Time) []nodepressure.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.syncEntries(list)
	p.out = p.out[:0]
	for _, pod := range list {
		e := p.entries[pod.UID]
		e.observation.Stats = nil
		if e.read(p.opts.Host, !p.measured.IsZero(), &e.stats) {
			e.observation.Stats = &e.stats
		}
		e.observation.TerminatesBy = terminatesBy(pod.UID)
		p.out = append(p.out, e.observation)
	}
	return p.out
}

// PodStats returns the usage of a pod: memory and processes now, disk usage as last measured. It
// returns nil if neither is available.
func (p *Pods) PodStats(uid types.UID) *nodepressure.PodStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[uid]
	if e == nil {
		return nil
	}
	var s nodepressure.PodStats
	if !e.read(p.opts.Host, !p.measured.IsZero(), &s) {
		return nil
	}
	return &s
}

// Cgroup returns the cgroup of a pod.
func (p *Pods) Cgroup(pod *corev1.Pod) string { return p.opts.Cgroup(pod) }

// Prepare opens the files of the pods, so that Observe need not, and samples their CPU time for
// rates. Call it every 10 s.
func (p *Pods) Prepare(list []*corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.syncEntries(list)
	p.recordExtraCgroups(time.Now())
	for _, pod := range list {
		e := p.entries[pod.UID]
		e.open(p.opts.Host)
		now := time.Now()
		e.cpu.record(now, e.group)
		for i := range e.containers {
			e.containers[i].cpu.record(now, e.containers[i].group)
		}
	}
}

// syncEntries adds, updates and removes entries to match list.
func (p *Pods) syncEntries(list []*corev1.Pod) {
	p.generation++
	for _, pod := range list {
		e := p.entries[pod.UID]
		if e == nil {
			e = &podEntry{path: p.opts.Cgroup(pod)}
			p.entries[pod.UID] = e
		}
		e.generation = p.generation
		if e.pod == nil || e.pod != pod && e.pod.ResourceVersion != pod.ResourceVersion {
			e.observation = nodepressure.Pod{Pod: p.converter.Pod(pod), EvictionSpec: conversion.EvictionSpec(pod)}
			e.updateContainers(pod)
		}
		e.pod = pod
	}
	if len(p.entries) == len(list) {
		return
	}
	for uid, e := range p.entries {
		if e.generation != p.generation {
			e.close()
			delete(p.entries, uid)
		}
	}
}

// updateContainers adds new containers, and removes those that were replaced or do not run.
func (e *podEntry) updateContainers(pod *corev1.Pod) {
	ids := map[string]string{}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if id := containerID(list[i].ContainerID); id != "" && list[i].State.Running != nil {
				ids[list[i].Name] = id
			}
		}
	}
	previous := e.containers
	e.containers = nil
	for i := range previous {
		if ids[previous[i].name] != previous[i].id {
			previous[i].close()
			continue
		}
		e.containers = append(e.containers, previous[i])
		delete(ids, previous[i].name)
	}
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if id := ids[list[i].Name]; id != "" {
				e.containers = append(e.containers, containerEntry{name: list[i].Name, id: id})
			}
		}
	}
}

// containerID removes the runtime's prefix, as in containerd://1f2e.
func containerID(s string) string {
	_, id, _ := strings.Cut(s, "://")
	return id
}

// open opens the cgroups that exist and are not open yet.
func (e *podEntry) open(h *cgroup.Host) {
	if e.group == nil && h.Exists(e.path) {
		e.group, _ = h.Open(e.path)
	}
	for i := range e.containers {
		c := &e.containers[i]
		if path := e.path + "/" + c.id; c.group == nil && h.Exists(path) {
			c.group, _ = h.Open(path)
		}
	}
}

func (e *podEntry) close() {
	if e.group != nil {
		e.group.Close()
		e.group = nil
	}
	for i := range e.containers {
		e.containers[i].close()
	}
}

func (c *containerEntry) close() {
	if c.group != nil {
		c.group.Close()
		c.group = nil
	}
}

// read reads the usage into s and reports whether any usage is available. measured means that
// Measure has completed at least once.
func (e *podEntry) read(h *cgroup.Host, measured bool, s *nodepressure.PodStats) (ok bool) {
	e.open(h)
	*s = nodepressure.PodStats{Containers: s.Containers[:0], Volumes: s.Volumes[:0]}
	if e.group == nil {
		// A pod without processes uses 0, which is known; it must not rank first for eviction.
		s.MemoryKnown = !h.Exists(e.path)
	} else {
		switch err := e.group.Memory(&e.memory); {
		case err == nil:
			s.MemoryKnown, s.Memory = true, e.memory.WorkingSet()
			if e.group.HasPids() {
				s.Processes, _ = e.group.Pids()
			}
		case errors.Is(err, cgroup.ErrRemoved):
			e.group.Close()
			e.group, s.MemoryKnown = nil, true
		}
	}
	for i := range e.containers {
		e.containers[i].read(s)
	}
	switch {
	case e.disk != nil:
		e.disk.addTo(s)
	case measured: // the pod is newer than the measurement
		s.EphemeralKnown = true
	}
	return s.MemoryKnown || s.EphemeralKnown
}

func (c *containerEntry) read(s *nodepressure.PodStats) {
	if c.group == nil {
		return
	}
	err := c.group.Memory(&c.memory)
	if errors.Is(err, cgroup.ErrRemoved) {
		c.close()
	}
	if err == nil {
		s.Containers = append(s.Containers, nodepressure.ContainerStats{Name: c.name, MemoryKnown: true, Memory: c.memory.WorkingSet()})
	}
}
