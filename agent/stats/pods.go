package stats

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/volume"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/conversion"
)

// Options of Pods. Host and Cgroup must be given.
type Options struct {
	Host *cgroup.Host
	// Cgroup is where a pod's processes are; its containers are below, each in a
	// cgroup called by its id.
	Cgroup func(*corev1.Pod) string
	// ExtraCgroups are other cgroups whose CPU time is noted: the node's, and that of all pods.
	ExtraCgroups []string
	// LogDir is the directory of a pod's logs, a directory for each container below; nil: not measured.
	LogDir func(*corev1.Pod) string
	// Volumes measures a pod's volumes; nil: not measured.
	Volumes interface {
		Usage(types.UID) ([]volume.Usage, error)
	}
	// Containers tells of writable layers; nil: not measured.
	Containers interface {
		ListContainerStats(context.Context, *cri.ContainerStatsFilter) ([]*cri.ContainerStats, error)
	}
}

// Pods reads what pods use. It may be used from many goroutines.
type Pods struct {
	opts       Options
	mu         sync.Mutex
	converter  *conversion.Converter
	entries    map[types.UID]*podEntry
	generation uint64
	out        []nodepressure.Pod
	extraCPU   map[string]cpuSamples // of Options.Also
	// measured is when the disk use of all pods was measured last.
	measured time.Time
}

// podEntry is what is kept of a pod between reads.
type podEntry struct {
	pod         *corev1.Pod
	observation nodepressure.Pod
	stats       nodepressure.PodStats // of Observe alone: its caller reads them unlocked
	path        string
	group       *cgroup.Group
	containers  []containerEntry
	generation  uint64
	memory      cgroup.Memory
	cpu         cpuSamples
	disk        *diskUse // nil until measured
}

// containerEntry is a container of a pod.
type containerEntry struct {
	name, id string
	group    *cgroup.Group
	memory   cgroup.Memory
	cpu      cpuSamples
}

// NewPods knows no pod yet.
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

// Observe reads memory and processes of the pods in list, fresh, and adds what
// is known of their disk use; diesBy is when a pod that is being ended will be
// killed, zero for the others. The answer is good until the next call and in
// the order of list. Pods that are not in list are dropped.
func (p *Pods) Observe(list []*corev1.Pod, diesBy func(types.UID) time.Time) []nodepressure.Pod {
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
		e.observation.TerminatesBy = diesBy(pod.UID)
		p.out = append(p.out, e.observation)
	}
	return p.out
}

// Cgroup is where a pod's processes are.
func (p *Pods) Cgroup(pod *corev1.Pod) string { return p.opts.Cgroup(pod) }

// Prepare opens the files of the pods in list, so that Observe need not, and
// notes what CPU time they have used, from which rates are made. Call it every 10 s.
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

// syncEntries makes entries of new pods, renews those of changed ones, and drops the others.
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
			e.observation = nodepressure.Pod{Pod: p.converter.Pod(pod), EvictionSpec: conversion.PressureTerms(pod)}
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

// updateContainers takes up containers that have come, and lets go of those replaced.
func (e *podEntry) updateContainers(pod *corev1.Pod) {
	ids := map[string]string{}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if id := containerID(list[i].ContainerID); id != "" && list[i].State.Running != nil {
				ids[list[i].Name] = id
			}
		}
	}
	old := e.containers
	e.containers = nil
	for i := range old {
		if ids[old[i].name] != old[i].id {
			old[i].close()
			continue
		}
		e.containers = append(e.containers, old[i])
		delete(ids, old[i].name)
	}
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if id := ids[list[i].Name]; id != "" {
				e.containers = append(e.containers, containerEntry{name: list[i].Name, id: id})
			}
		}
	}
}

// containerID takes the runtime's name off, as in containerd://1f2e.
func containerID(s string) string {
	for i := 0; i+3 <= len(s); i++ {
		if s[i:i+3] == "://" {
			return s[i+3:]
		}
	}
	return ""
}

// open opens what is not open yet; a cgroup that is not there yet is tried again.
func (e *podEntry) open(h *cgroup.Host) {
	if e.group == nil && h.Exists(e.path) {
		e.group, _ = h.Open(e.path)
	}
	for i := range e.containers {
		b := &e.containers[i]
		if path := e.path + "/" + b.id; b.group == nil && h.Exists(path) {
			b.group, _ = h.Open(path)
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

func (b *containerEntry) close() {
	if b.group != nil {
		b.group.Close()
		b.group = nil
	}
}

// read reads the entry's figures into s; false if nothing is known. measured: the disk use
// of all pods that were there was measured.
func (e *podEntry) read(h *cgroup.Host, measured bool, s *nodepressure.PodStats) (known bool) {
	e.open(h)
	*s = nodepressure.PodStats{Containers: s.Containers[:0], Volumes: s.Volumes[:0]}
	if e.group == nil {
		// Nothing of it runs: that is known, and is not to make it the first to go.
		s.MemoryKnown = !h.Exists(e.path)
	} else {
		switch err := e.group.Memory(&e.memory); {
		case err == nil:
			s.MemoryKnown, s.Memory = true, e.memory.WorkingSet()
			if e.group.HasPids() {
				s.Processes, _ = e.group.Pids()
			}
		case errors.Is(err, cgroup.ErrGone):
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
	case measured: // it came after that
		s.EphemeralKnown = true
	}
	return s.MemoryKnown || s.EphemeralKnown
}

func (b *containerEntry) read(s *nodepressure.PodStats) {
	if b.group == nil {
		return
	}
	err := b.group.Memory(&b.memory)
	if errors.Is(err, cgroup.ErrGone) {
		b.close()
	}
	if err == nil {
		s.Containers = append(s.Containers, nodepressure.ContainerStats{Name: b.name, MemoryKnown: true, Memory: b.memory.WorkingSet()})
	}
}
