package pods

import (
	"os"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/internal/conversion"
)

// Limits and units of CPU settings, as the kubelet has them.
const (
	cpuPeriod   = 100_000 // microseconds
	minCPUQuota = 1000    // microseconds
)

// cpuQuota converts a CPU limit in milli-CPU to microseconds per period; 0 means no limit.
func cpuQuota(milli int64) int64 {
	if milli <= 0 {
		return 0
	}
	return max(milli*cpuPeriod/1000, minCPUQuota)
}

// containerResources returns the limits, the CPU weight and the OOM score of a container.
func (r *Runner) containerResources(pod *corev1.Pod, c *corev1.Container) *cri.LinuxContainerResources {
	request, ok := c.Resources.Requests[corev1.ResourceCPU]
	limit := c.Resources.Limits[corev1.ResourceCPU]
	if !ok {
		request = limit
	}
	memory := c.Resources.Limits[corev1.ResourceMemory]
	if memory.IsZero() {
		memory = podLevelLimits(pod)[corev1.ResourceMemory]
	}
	out := &cri.LinuxContainerResources{CpuShares: cgroup.CPUShares(request.MilliValue()), MemoryLimitInBytes: memory.Value(),
		OomScoreAdj: attainableOOMScore(oomScore(pod, c, r.opts.Node().Status.Capacity.Memory().Value()))}
	if !r.opts.NoCPUQuota {
		if out.CpuQuota = cpuQuota(limit.MilliValue()); out.CpuQuota > 0 {
			out.CpuPeriod = cpuPeriod
		}
	}
	if h, ok := r.opts.Cgroups.(*cgroup.Host); ok && h.Mode == cgroup.V2 {
		// As in the kubelet: the OOM killer kills all processes of the container together.
		out.Unified = map[string]string{"memory.oom.group": "1"}
	}
	return out
}

// podLevelLimits returns the limits in spec.resources.
func podLevelLimits(pod *corev1.Pod) corev1.ResourceList {
	if pod.Spec.Resources == nil {
		return nil
	}
	return pod.Spec.Resources.Limits
}

// podLimits returns the limits of the pod's cgroup: the pod-level limit, or the sum of the
// container limits if every container has one.
func (r *Runner) podLimits(pod *corev1.Pod) cgroup.Limits {
	requests, limits := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}), resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{})
	l := cgroup.Limits{CPUShares: cgroup.CPUShares(requests.Cpu().MilliValue()), Pids: r.opts.PidsLimit}
	if conversion.QoS(pod) == corev1.PodQOSBestEffort {
		l.CPUShares = cgroup.MinCPUShares
		return l
	}
	if !r.opts.NoCPUQuota && hasLimit(pod, corev1.ResourceCPU) {
		l.CPUQuota = cpuQuota(limits.Cpu().MilliValue())
	}
	if hasLimit(pod, corev1.ResourceMemory) {
		l.Memory = limits.Memory().Value()
	}
	return l
}

// hasLimit reports whether the pod or all of its containers have a limit.
func hasLimit(pod *corev1.Pod, name corev1.ResourceName) bool {
	if q := podLevelLimits(pod)[name]; !q.IsZero() {
		return true
	}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if q := list[i].Resources.Limits[name]; q.IsZero() {
				return false
			}
		}
	}
	return true
}

// OOM scores as the kubelet sets them.
const (
	criticalOOMScore   = -997
	guaranteedOOMScore = -997
	bestEffortOOMScore = 1000
	systemNodeCritical = 2000001000 // priority of system-node-critical
)

// oomScore returns the oom_score_adj of a container. capacity is the node's memory in bytes.
func oomScore(pod *corev1.Pod, c *corev1.Container, capacity int64) int64 {
	if pod.Spec.Priority != nil && *pod.Spec.Priority >= systemNodeCritical {
		return criticalOOMScore
	}
	switch conversion.QoS(pod) {
	case corev1.PodQOSGuaranteed:
		return guaranteedOOMScore
	case corev1.PodQOSBestEffort:
		return bestEffortOOMScore
	}
	score := bestEffortOOMScore - perMille(c.Resources.Requests.Memory().Value()+podRequestPerContainer(pod), capacity)
	if c.RestartPolicy != nil { // only sidecars among the init containers have a restart policy
		for i := range pod.Spec.InitContainers {
			if pod.Spec.InitContainers[i].Name == c.Name {
				score = min(score, bestEffortOOMScore-perMille(minMemoryRequest(pod)+podRequestPerContainer(pod), capacity))
			}
		}
	}
	// Always better than BestEffort and worse than Guaranteed.
	return min(max(score, bestEffortOOMScore+guaranteedOOMScore), bestEffortOOMScore-1)
}

// perMille returns a request in thousandths of the capacity.
func perMille(request, capacity int64) int64 {
	if capacity <= 0 {
		return 0
	}
	return int64(1000 * (float64(request) / float64(capacity)))
}

// podRequestPerContainer divides the part of the pod-level memory request that exceeds the sum of
// the container requests by the number of containers.
func podRequestPerContainer(pod *corev1.Pod) int64 {
	if !resourcehelper.IsPodLevelRequestsSet(pod) {
		return 0
	}
	podRequest, ok := pod.Spec.Resources.Requests[corev1.ResourceMemory]
	if !ok {
		return 0
	}
	containerRequests := resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})
	n := int64(len(pod.Spec.Containers))
	for i := range pod.Spec.InitContainers {
		if rp := pod.Spec.InitContainers[i].RestartPolicy; rp != nil && *rp == corev1.ContainerRestartPolicyAlways {
			n++
		}
	}
	return max(podRequest.Value()-containerRequests.Memory().Value(), 0) / max(n, 1)
}

// minMemoryRequest returns the smallest memory request of the pod's containers.
func minMemoryRequest(pod *corev1.Pod) int64 {
	smallest := int64(-1)
	for i := range pod.Spec.Containers {
		if m := pod.Spec.Containers[i].Resources.Requests.Memory().Value(); smallest < 0 || m < smallest {
			smallest = m
		}
	}
	return max(smallest, 0)
}

// attainableOOMScore returns the lowest score, at least score, that the agent may set. Without
// CAP_SYS_RESOURCE the kernel rejects scores below the agent's own, and the container would not
// start.
func attainableOOMScore(score int64) int64 {
	const resourceBit = 24 // CAP_SYS_RESOURCE
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return score
	}
	_, after, _ := strings.Cut(string(status), "CapEff:")
	hex, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
	caps, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
	if err != nil || caps&(1<<resourceBit) != 0 {
		return score
	}
	agentScore, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return score
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(agentScore)), 10, 64)
	if err != nil {
		return score
	}
	return max(score, n)
}
