package stats

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/berthproject/berth/agent/cgroup"
)

// addPSI adds the pressure stall information of a cgroup to its CPU and memory stats, and returns its IO
// stats. All are omitted without cgroup v2, as in the kubelet.
func addPSI(h *cgroup.Host, path string, now time.Time, cpu *stats.CPUStats, memory *stats.MemoryStats) *stats.IOStats {
	if cpu != nil {
		cpu.PSI = psi(h, path, "cpu")
	}
	if memory != nil {
		memory.PSI = psi(h, path, "memory")
	}
	if io := psi(h, path, "io"); io != nil {
		return &stats.IOStats{Time: metav1.NewTime(now), PSI: io}
	}
	return nil
}

// psi returns the pressure stall information of a resource, or nil if there is none.
func psi(h *cgroup.Host, path, resource string) *stats.PSIStats {
	p, ok := h.PSI(path, resource)
	if !ok {
		return nil
	}
	return &stats.PSIStats{Some: psiData(p.Some), Full: psiData(p.Full)}
}

func psiData(s cgroup.Stall) stats.PSIData {
	return stats.PSIData{Total: uint64(s.Total.Nanoseconds()), Avg10: float64(s.Avg10) / 100, Avg60: float64(s.Avg60) / 100, Avg300: float64(s.Avg300) / 100}
}
