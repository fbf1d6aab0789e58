package crowd

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/berthproject/berth/agent/serve"
	"github.com/berthproject/berth/engine/pressure"
	"github.com/berthproject/berth/engine/pressure/usage"
	"github.com/berthproject/berth/internal/intake"
)

// Agent knows the pods of the nodes: those that take room, and all that are bound.
type Agent interface {
	Pods(node string) []*corev1.Pod
	Bound(node string) []*corev1.Pod
}

// player is one simulated node.
type player struct {
	name  string
	node  usage.Node
	agent Agent
	usage func(node string) (usage.Node, bool) // may be nil
}

func newNode(n *corev1.Node, agent Agent, now func(string) (usage.Node, bool)) *serve.Node {
	p := &player{name: n.Name, agent: agent, usage: now, node: usage.Node{Since: time.Now()}}
	memory, storage := n.Status.Capacity[corev1.ResourceMemory], n.Status.Capacity[corev1.ResourceEphemeralStorage]
	allocatable, ok := n.Status.Allocatable[corev1.ResourceMemory]
	if !ok {
		allocatable = memory
	}
	var err error
	if p.node.Capacity, err = usage.ParseCapacity(n.Annotations[usage.CapacityAnnotation], memory.Value(), allocatable.Value(), storage.Value()); err != nil {
		p.node.Capacity, _ = usage.ParseCapacity("", memory.Value(), allocatable.Value(), storage.Value())
	}
	if text := n.Annotations[usage.Annotation]; text != "" {
		if script, err := usage.ParseNode(text); err == nil {
			p.node.Own = script
		}
	}
	return &serve.Node{
		Name: n.Name,
		Pods: func() []*corev1.Pod { return agent.Bound(n.Name) },
		Summary: func(context.Context) (*stats.Summary, error) {
			return p.summary(time.Now()), nil
		},
	}
}

// summary is what node and pods use at now.
func (p *player) summary(now time.Time) *stats.Summary {
	s := &stats.Summary{Pods: []stats.PodStats{}}
	var uses []usage.Use
	total := load{}
	for _, pod := range p.agent.Pods(p.name) {
		running := containers(pod)
		if len(running) == 0 {
			continue
		}
		use := usage.UseOf(now, running, intake.PressureTerms(pod))
		uses = append(uses, use)
		figures, sum := podStats(now, pod, running, use.Stats())
		s.Pods = append(s.Pods, figures)
		total.add(sum)
	}
	node := p.node
	if p.usage != nil {
		if looked, ok := p.usage(p.name); ok {
			node = looked
		}
	}
	o := node.Observe(now, uses)
	s.Node = stats.NodeStats{NodeName: p.name, StartTime: metav1.NewTime(node.Since), CPU: total.cpu(now), Memory: memory(now, used(&o, pressure.MemoryAvailable)),
		Fs: filesystem(now, &o, pressure.NodeFsAvailable), Runtime: &stats.RuntimeStats{ImageFs: filesystem(now, &o, pressure.ImageFsAvailable)}}
	available := uint64(o.Signals[pressure.MemoryAvailable].Available)
	s.Node.Memory.AvailableBytes = &available
	return s
}

// containers are those of the pod that run, with their scripts.
func containers(pod *corev1.Pod) []usage.Running {
	scripts, _ := intake.UsageOf(pod) // what cannot be read counts for nothing; the agent says so
	var out []usage.Running
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if r := list[i].State.Running; r != nil {
				out = append(out, usage.Running{Name: list[i].Name, Script: scripts[list[i].Name], Since: r.StartedAt.Time})
			}
		}
	}
	return out
}

// load is CPU: how much now, and how much so far, in ns.
type load struct{ rate, sum int64 }

func (l *load) add(o load) { l.rate, l.sum = l.rate+o.rate, l.sum+o.sum }

func (l load) cpu(now time.Time) *stats.CPUStats {
	rate, sum := uint64(l.rate), uint64(l.sum)
	return &stats.CPUStats{Time: metav1.NewTime(now), UsageNanoCores: &rate, UsageCoreNanoSeconds: &sum}
}

// loadOf is what a container requests, since it started.
func loadOf(pod *corev1.Pod, c *usage.Running, now time.Time) load {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == c.Name {
				milli := list[i].Resources.Requests.Cpu().MilliValue()
				return load{rate: milli * 1e6, sum: milli * max(now.Sub(c.Since), 0).Milliseconds() * 1e3}
			}
		}
	}
	return load{}
}

func podStats(now time.Time, pod *corev1.Pod, running []usage.Running, use *pressure.PodStats) (stats.PodStats, load) {
	out := stats.PodStats{PodRef: stats.PodReference{Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID)}, Memory: memory(now, use.Memory)}
	if pod.Status.StartTime != nil {
		out.StartTime = *pod.Status.StartTime
	}
	var total load
	for i := range running {
		c, l := &use.Containers[i], loadOf(pod, &running[i], now)
		total.add(l)
		out.Containers = append(out.Containers, stats.ContainerStats{Name: c.Name, StartTime: metav1.NewTime(running[i].Since), CPU: l.cpu(now), Memory: memory(now, c.Memory)})
	}
	processes := uint64(use.Processes)
	out.CPU, out.ProcessStats = total.cpu(now), &stats.ProcessStats{ProcessCount: &processes}
	return out, total
}

func memory(now time.Time, bytes int64) *stats.MemoryStats {
	b := uint64(max(bytes, 0))
	return &stats.MemoryStats{Time: metav1.NewTime(now), UsageBytes: &b, WorkingSetBytes: &b}
}

func used(o *pressure.Observation, s pressure.Signal) int64 {
	return o.Signals[s].Capacity - o.Signals[s].Available
}

// filesystem is one of the node's; the signal of its inodes follows that of its bytes.
func filesystem(now time.Time, o *pressure.Observation, s pressure.Signal) *stats.FsStats {
	number := func(n int64) *uint64 { u := uint64(max(n, 0)); return &u }
	return &stats.FsStats{
		Time: metav1.NewTime(now), AvailableBytes: number(o.Signals[s].Available), CapacityBytes: number(o.Signals[s].Capacity), UsedBytes: number(used(o, s)),
		InodesFree: number(o.Signals[s+1].Available), Inodes: number(o.Signals[s+1].Capacity), InodesUsed: number(used(o, s+1)),
	}
}
