//go:build linux

package nodeagent

import (
	"math"
	goruntime "runtime"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/engine/shutdown"
	"github.com/berthproject/berth/internal/config"
)

// Conversions from a KubeletConfiguration to the options of the parts.

// maxPods returns the maximum number of pods of the node.
func maxPods(k *config.Kubelet) int64 {
	limit := int64(k.MaxPods)
	if k.PodsPerCore > 0 {
		limit = min(limit, int64(k.PodsPerCore)*int64(goruntime.NumCPU()))
	}
	return limit
}

// allocatable returns the capacity without reservations and hard eviction thresholds.
func allocatable(k *config.Kubelet, capacity corev1.ResourceList) corev1.ResourceList {
	return agent.Allocatable(capacity, k.KubeReserved, k.SystemReserved, k.HardEviction(capacity))
}

// podsLimits returns the limits of the cgroup of all pods. As in the kubelet, its CPU weight is that of the CPUs which pods
// may use. Memory is limited only if some of it is reserved. Reservations that are not enforced do not count.
func podsLimits(k *config.Kubelet, capacity corev1.ResourceList) cgroup.Limits {
	remaining := capacity
	if slices.Contains(k.EnforceNodeAllocatable, "pods") {
		remaining = agent.Allocatable(capacity, k.KubeReserved, k.SystemReserved)
	}
	l := cgroup.Limits{CPUShares: cgroup.CPUShares(remaining.Cpu().MilliValue())}
	if m := remaining[corev1.ResourceMemory]; m.Cmp(capacity[corev1.ResourceMemory]) < 0 {
		l.Memory = max(m.Value(), 1)
	}
	return l
}

// shutdownClasses returns the grace periods of a node shutdown.
func shutdownClasses(s config.Shutdown) agent.Shutdown {
	if len(s.ByPriority) == 0 {
		if s.Total == 0 {
			return nil
		}
		return shutdown.DefaultClasses(s.Total, s.Critical)
	}
	var out agent.Shutdown
	for _, p := range s.ByPriority {
		out = append(out, shutdown.Class{Priority: p.Priority, Grace: p.Grace})
	}
	return out
}

// parallelPulls returns how many images are pulled in parallel; negative means unlimited.
func parallelPulls(k *config.Kubelet) int {
	switch {
	case k.SerializeImagePulls:
		return 1
	case k.MaxParallelImagePulls > 0:
		return int(k.MaxParallelImagePulls)
	}
	return -1
}

// pidsLimit returns the maximum number of processes per pod; 0 means unlimited.
func pidsLimit(k *config.Kubelet) int64 {
	if k.PodPidsLimit <= 0 || k.PodPidsLimit == math.MaxInt64 {
		return 0
	}
	return k.PodPidsLimit
}
