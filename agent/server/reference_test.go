package server

import (
	"testing"

	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/berthproject/berth/internal/testkit/reference"
)

// TestMetricsReference checks the section of this package in docs/reference/metrics.md.
func TestMetricsReference(t *testing.T) {
	cpu, memory := &stats.CPUStats{UsageCoreNanoSeconds: new(uint64)}, &stats.MemoryStats{WorkingSetBytes: new(uint64)}
	summary := &stats.Summary{
		Node: stats.NodeStats{CPU: cpu, Memory: memory},
		Pods: []stats.PodStats{{CPU: cpu, Memory: memory, Containers: []stats.ContainerStats{{CPU: cpu, Memory: memory}}}},
	}
	reference.CheckSection(t, "metrics.md", reference.Metrics(t, resourceCollector{summary}))
}
