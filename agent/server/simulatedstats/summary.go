package simulatedstats

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/berthproject/berth/agent/server"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/nodepressure/usage"
	"github.com/berthproject/berth/internal/conversion"
)

// Agent provides the pods of the nodes.
type Agent interface {
	Pods(node string) []*corev1.Pod
	BoundPods(node string) []*corev1.Pod
}

// simulatedNode is a served node.
type simulatedNode struct {
	name  string
	node  usage.Node
	agent Agent
	usage func(node string) (usage.Node, bool) // may be nil
}

func newNode(n *corev1.Node, agent Agent, o *Options) *server.Node {
	out := &simulatedNode{name: n.Name, agent: agent, usage: o.Usage, node: usage.Node{Since: time.Now()}}
	memory, storage := n.Status.Capacity[corev1.ResourceMemory], n.Status.Capacity[corev1.ResourceEphemeralStorage]
	allocatable, ok := n.Status.Allocatable[corev1.ResourceMemory]
	if !ok {
		allocatable = memory
	}
	var err error
	if out.node.Capacity, err = usage.ParseCapacity(n.Annotations[usage.CapacityAnnotation], memory.Value(), allocatable.Value(), storage.Value()); err != nil {
		out.node.Capacity, _ = usage.ParseCapacity("", memory.Value(), allocatable.Value(), storage.Value())
	}
	if text := n.Annotations[usage.Annotation]; text != "" {
		if script, err := usage.ParseNode(text); err == nil {
			out.node.NodeScript = script
		}
	}
	served := &server.Node{
		Name: n.Name,
		Pods: func() []*corev1.Pod { return agent.BoundPods(n.Name) },
		Summary: func(context.Context) (*stats.Summary, error) {
			return out.summary(time.Now()), nil
		},
	}
	if o.Pressure != nil {
		served.Pressure = func(context.Context) (any, error) { return o.Pressure(n.Name) }
	}
	return served
}

// summary returns the usage of the node and its pods.
func (n *simulatedNode) summary(now time.Time) *stats.Summary {
	s := &stats.Summary{Pods: []stats.PodStats{}}
	var usages []usage.PodUsage
	total := cpuUsage{}
	for _, pod := range n.agent.Pods(n.name) {
		running := runningContainers(pod)
		if len(running) == 0 {
			continue
		}
		podUsage := usage.PodUsageAt(now, running, conversion.EvictionSpec(pod))
		usages = append(usages, podUsage)
		podSummary, sum := podStats(now, pod, running, podUsage.Stats())
		s.Pods = append(s.Pods, podSummary)
		total.add(sum)
	}
	node := n.node
	if n.usage != nil {
		if observed, ok := n.usage(n.name); ok {
			node = observed
		}
	}
	o := node.Observe(now, usages)
	s.Node = stats.NodeStats{NodeName: n.name, StartTime: metav1.NewTime(node.Since), CPU: total.cpu(now), Memory: memory(now, usedBytes(&o, nodepressure.MemoryAvailable)),
		Fs: filesystem(now, &o, nodepressure.NodeFsAvailable), Runtime: &stats.RuntimeStats{ImageFs: filesystem(now, &o, nodepressure.ImageFsAvailable)}}
	available := uint64(o.Signals[nodepressure.MemoryAvailable].Available)
	s.Node.Memory.AvailableBytes = &available
	return s
}

// runningContainers returns the running containers of the pod with their scripts.
func runningContainers(pod *corev1.Pod) []usage.RunningContainer {
	scripts, _ := conversion.SimulatedUsage(pod) // invalid scripts count as no usage; the agent reports them
	var out []usage.RunningContainer
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if r := list[i].State.Running; r != nil {
				out = append(out, usage.RunningContainer{Name: list[i].Name, Script: scripts[list[i].Name], Since: r.StartedAt.Time})
			}
		}
	}
	return out
}

// cpuUsage is a CPU rate in nanocores and the CPU time so far in nanoseconds.
type cpuUsage struct{ rate, sum int64 }

func (u *cpuUsage) add(o cpuUsage) { u.rate, u.sum = u.rate+o.rate, u.sum+o.sum }

func (u cpuUsage) cpu(now time.Time) *stats.CPUStats {
	rate, sum := uint64(u.rate), uint64(u.sum)
	return &stats.CPUStats{Time: metav1.NewTime(now), UsageNanoCores: &rate, UsageCoreNanoSeconds: &sum}
}

// cpuUsageOf returns the usage of a container that uses its CPU request.
func cpuUsageOf(pod *corev1.Pod, c *usage.RunningContainer, now time.Time) cpuUsage {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == c.Name {
				milli := list[i].Resources.Requests.Cpu().MilliValue()
				return cpuUsage{rate: milli * 1e6, sum: milli * max(now.Sub(c.Since), 0).Milliseconds() * 1e3}
			}
		}
	}
	return cpuUsage{}
}

func podStats(now time.Time, pod *corev1.Pod, running []usage.RunningContainer, podUsage *nodepressure.PodStats) (stats.PodStats, cpuUsage) {
	out := stats.PodStats{PodRef: stats.PodReference{Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID)}, Memory: memory(now, podUsage.Memory)}
	if pod.Status.StartTime != nil {
		out.StartTime = *pod.Status.StartTime
	}
	var total cpuUsage
	for i := range running {
		c, cpu := &podUsage.Containers[i], cpuUsageOf(pod, &running[i], now)
		total.add(cpu)
		out.Containers = append(out.Containers, stats.ContainerStats{Name: c.Name, StartTime: metav1.NewTime(running[i].Since), CPU: cpu.cpu(now), Memory: memory(now, c.Memory)})
	}
	processes := uint64(podUsage.Processes)
	out.CPU, out.ProcessStats = total.cpu(now), &stats.ProcessStats{ProcessCount: &processes}
	return out, total
}

func memory(now time.Time, bytes int64) *stats.MemoryStats {
	b := uint64(max(bytes, 0))
	return &stats.MemoryStats{Time: metav1.NewTime(now), UsageBytes: &b, WorkingSetBytes: &b}
}

func usedBytes(o *nodepressure.Observation, s nodepressure.Signal) int64 {
	return o.Signals[s].Capacity - o.Signals[s].Available
}

// filesystem returns the stats of a file system; s+1 is the signal of its inodes.
func filesystem(now time.Time, o *nodepressure.Observation, s nodepressure.Signal) *stats.FsStats {
	pointer := func(n int64) *uint64 { u := uint64(max(n, 0)); return &u }
	return &stats.FsStats{
		Time: metav1.NewTime(now), AvailableBytes: pointer(o.Signals[s].Available), CapacityBytes: pointer(o.Signals[s].Capacity), UsedBytes: pointer(usedBytes(o, s)),
		InodesFree: pointer(o.Signals[s+1].Available), Inodes: pointer(o.Signals[s+1].Capacity), InodesUsed: pointer(usedBytes(o, s+1)),
	}
}
