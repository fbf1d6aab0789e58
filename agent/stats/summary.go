package stats

import (
	"context"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/engine/nodepressure"
)

// Summarizer provides the kubelet's /stats/summary.
type Summarizer struct {
	Node string // node name
	Host *cgroup.Host
	// Cgroup is the node's cgroup, "/" for the whole machine. PodsCgroup is the parent of all pods.
	Cgroup, PodsCgroup string
	List               func() []*corev1.Pod
	Pods               *Pods
	// NodeFs, ImageFs and ContainerFs are optional.
	NodeFs, ImageFs, ContainerFs *Disk
	Started                      time.Time // reported as the start time of the node
}

// Summary reads CPU and memory now, and returns disk usage as last measured.
func (s *Summarizer) Summary(ctx context.Context) (*stats.Summary, error) {
	now := time.Now()
	node, err := s.node(now)
	if err != nil {
		return nil, fmt.Errorf("summary of node %s: %w", s.Node, err)
	}
	return &stats.Summary{Node: *node, Pods: s.Pods.summaries(ctx, now, s.List())}, nil
}

func (s *Summarizer) node(now time.Time) (*stats.NodeStats, error) {
	out := &stats.NodeStats{NodeName: s.Node, StartTime: metav1.NewTime(s.Started)}
	machine, capacity, err := s.group(now, s.Cgroup, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	out.CPU, out.Memory, out.IO = machine.CPU, machine.Memory, machine.IO
	if pods, _, err := s.group(now, s.PodsCgroup, capacity); err == nil {
		pods.Name = stats.SystemContainerPods
		out.SystemContainers = append(out.SystemContainers, *pods)
	}
	out.Fs = s.disk(now, s.NodeFs)
	out.Runtime = &stats.RuntimeStats{ImageFs: s.disk(now, s.ImageFs), ContainerFs: s.disk(now, s.ContainerFs)}
	m, err := OpenNode(s.Host, s.Cgroup, s.PodsCgroup)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if running, limit, err := m.Processes(); err == nil {
		out.Rlimit = &stats.RlimitStats{Time: metav1.NewTime(now), MaxPID: &limit, NumOfRunningProcesses: &running}
	}
	return out, nil
}

// group reads the CPU and memory of a cgroup, and returns its memory capacity in bytes. parent is the capacity of the
// cgroup above it.
func (s *Summarizer) group(now time.Time, path string, parent int64) (out *stats.ContainerStats, capacity int64, err error) {
	g, err := s.Host.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer g.Close()
	var m cgroup.Memory
	if err := g.Memory(&m); err != nil {
		return nil, 0, err
	}
	if capacity, err = g.Capacity(); err != nil {
		return nil, 0, err
	}
	capacity = min(capacity, parent)
	c := s.Pods.cpuOf(path)
	out = &stats.ContainerStats{StartTime: metav1.NewTime(s.Started), CPU: c.stats(now, g), Memory: memory(now, &m, capacity)}
	out.IO = addPSI(s.Host, path, now, out.CPU, out.Memory)
	return out, capacity, nil
}

func (s *Summarizer) disk(now time.Time, d *Disk) *stats.FsStats {
	if d == nil {
		return nil
	}
	u, err := d.Usage(now)
	if err != nil {
		return nil
	}
	return &stats.FsStats{
		Time: metav1.NewTime(u.At), AvailableBytes: toUint64(u.Available), CapacityBytes: toUint64(u.Capacity), UsedBytes: toUint64(u.Used),
		Inodes: toUint64(u.Inodes), InodesFree: toUint64(u.InodesFree), InodesUsed: toUint64(u.Inodes - u.InodesFree),
	}
}

// memory converts m. It sets the available memory only if there is a limit.
func memory(now time.Time, m *cgroup.Memory, limit int64) *stats.MemoryStats {
	out := &stats.MemoryStats{
		Time: metav1.NewTime(now), UsageBytes: toUint64(m.Usage), WorkingSetBytes: toUint64(m.WorkingSet()), RSSBytes: toUint64(m.Anon),
		PageFaults: toUint64(m.Faults), MajorPageFaults: toUint64(m.MajorFaults),
	}
	if limit < cgroup.Unlimited {
		out.AvailableBytes = toUint64(limit - m.WorkingSet())
	}
	return out
}

func (p *Pods) summaries(ctx context.Context, now time.Time, list []*corev1.Pod) []stats.PodStats {
	out := make([]stats.PodStats, 0, len(list))
	for _, pod := range list {
		if ctx.Err() != nil {
			break
		}
		p.mu.Lock()
		out = append(out, p.summary(now, pod))
		p.mu.Unlock()
	}
	return out
}

func (p *Pods) summary(now time.Time, pod *corev1.Pod) stats.PodStats {
	out := stats.PodStats{
		PodRef:    stats.PodReference{Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID)},
		StartTime: pod.CreationTimestamp, Containers: []stats.ContainerStats{},
	}
	if pod.Status.StartTime != nil {
		out.StartTime = *pod.Status.StartTime
	}
	e := p.entries[pod.UID]
	if e == nil {
		return out // added by the next Prepare
	}
	var podUsage nodepressure.PodStats
	e.read(p.opts.Host, !p.measured.IsZero(), &podUsage)
	if e.group != nil {
		limit, _ := e.group.Limit()
		out.CPU, out.Memory = e.cpu.stats(now, e.group), memory(now, &e.memory, limit)
		out.IO = addPSI(p.opts.Host, e.path, now, out.CPU, out.Memory)
		out.ProcessStats = &stats.ProcessStats{ProcessCount: toUint64(podUsage.Processes)}
	}
	for i := range e.containers {
		if c := &e.containers[i]; c.group != nil {
			limit, _ := c.group.Limit()
			container := stats.ContainerStats{
				Name: c.name, StartTime: startTime(pod, c.name), CPU: c.cpu.stats(now, c.group), Memory: memory(now, &c.memory, limit),
			}
			container.IO = addPSI(p.opts.Host, c.group.Path, now, container.CPU, container.Memory)
			out.Containers = append(out.Containers, container)
		}
	}
	if e.disk != nil {
		e.disk.addToSummary(pod, &out)
	}
	return out
}

// startTime returns the start time of a container.
func startTime(pod *corev1.Pod, name string) metav1.Time {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			if r := list[i].State.Running; list[i].Name == name && r != nil {
				return r.StartedAt
			}
		}
	}
	return pod.CreationTimestamp
}

// addToSummary adds the measured disk usage to the stats of a pod.
func (d *diskUse) addToSummary(pod *corev1.Pod, out *stats.PodStats) {
	measuredAt := metav1.NewTime(d.at)
	fs := func(f nodepressure.FsStats) *stats.FsStats {
		if !f.Known {
			return nil
		}
		return &stats.FsStats{Time: measuredAt, UsedBytes: toUint64(f.Bytes), InodesUsed: toUint64(f.Inodes)}
	}
	for i := range d.containers {
		for j := range out.Containers {
			if out.Containers[j].Name == d.containers[i].name {
				out.Containers[j].Rootfs, out.Containers[j].Logs = fs(d.containers[i].rootfs), fs(d.containers[i].logs)
			}
		}
	}
	for i := range d.volumes {
		v := &d.volumes[i]
		s := stats.VolumeStats{Name: v.Name, FsStats: stats.FsStats{
			Time: measuredAt, UsedBytes: toUint64(v.Bytes), InodesUsed: toUint64(v.Inodes), CapacityBytes: toUint64(v.Capacity),
			AvailableBytes: toUint64(v.Available), Inodes: toUint64(v.TotalInodes), InodesFree: toUint64(v.FreeInodes),
		}}
		if v.Claim != "" {
			s.PVCRef = &stats.PVCReference{Name: v.Claim, Namespace: pod.Namespace}
		}
		out.VolumeStats = append(out.VolumeStats, s)
	}
	out.EphemeralStorage = fs(nodepressure.FsStats{Known: true, Bytes: d.total})
}
