package criserver

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// containerMetric is a metric of containers with cAdvisor's name.
type containerMetric struct {
	name, help string
	kind       cri.MetricType
	value      func(*cri.ContainerStats) *cri.UInt64Value
}

// networkMetric is a metric of a network interface of a sandbox with cAdvisor's name.
type networkMetric struct {
	name, help string
	value      func(*cri.NetworkInterfaceUsage) *cri.UInt64Value
}

var containerMetrics = []containerMetric{
	{"container_cpu_usage_seconds_total", "Cumulative CPU time consumed, in seconds.", cri.MetricType_COUNTER, func(s *cri.ContainerStats) *cri.UInt64Value {
		used := s.GetCpu().GetUsageCoreNanoSeconds()
		if used == nil {
			return nil
		}
		return &cri.UInt64Value{Value: used.GetValue() / uint64(time.Second)}
	}},
	{"container_memory_usage_bytes", "Current memory usage in bytes, with all memory regardless of when it was accessed.", cri.MetricType_GAUGE,
		func(s *cri.ContainerStats) *cri.UInt64Value { return s.GetMemory().GetUsageBytes() }},
	{"container_memory_working_set_bytes", "Current working set in bytes.", cri.MetricType_GAUGE,
		func(s *cri.ContainerStats) *cri.UInt64Value { return s.GetMemory().GetWorkingSetBytes() }},
	{"container_memory_rss", "Size of anonymous memory in bytes.", cri.MetricType_GAUGE,
		func(s *cri.ContainerStats) *cri.UInt64Value { return s.GetMemory().GetRssBytes() }},
	{"container_fs_usage_bytes", "Disk usage of the writable layer in bytes.", cri.MetricType_GAUGE,
		func(s *cri.ContainerStats) *cri.UInt64Value { return s.GetWritableLayer().GetUsedBytes() }},
}

var networkMetrics = []networkMetric{
	{"container_network_receive_bytes_total", "Cumulative count of bytes received.", (*cri.NetworkInterfaceUsage).GetRxBytes},
	{"container_network_receive_errors_total", "Cumulative count of errors while receiving.", (*cri.NetworkInterfaceUsage).GetRxErrors},
	{"container_network_transmit_bytes_total", "Cumulative count of bytes transmitted.", (*cri.NetworkInterfaceUsage).GetTxBytes},
	{"container_network_transmit_errors_total", "Cumulative count of errors while transmitting.", (*cri.NetworkInterfaceUsage).GetTxErrors},
}

// ListMetricDescriptors implements cri.RuntimeServiceServer.
func (s *runtimeServer) ListMetricDescriptors(context.Context, *cri.ListMetricDescriptorsRequest) (*cri.ListMetricDescriptorsResponse, error) {
	out := &cri.ListMetricDescriptorsResponse{}
	for _, m := range containerMetrics {
		out.Descriptors = append(out.Descriptors, &cri.MetricDescriptor{Name: m.name, Help: m.help, LabelKeys: []string{"id", "name"}})
	}
	for _, m := range networkMetrics {
		out.Descriptors = append(out.Descriptors, &cri.MetricDescriptor{Name: m.name, Help: m.help, LabelKeys: []string{"id", "name", "interface"}})
	}
	return out, nil
}

// ListPodSandboxMetrics implements cri.RuntimeServiceServer.
func (s *runtimeServer) ListPodSandboxMetrics(ctx context.Context, _ *cri.ListPodSandboxMetricsRequest) (*cri.ListPodSandboxMetricsResponse, error) {
	list, err := s.runtime.ListPodSandboxStats(ctx, nil)
	if err != nil {
		return nil, err
	}
	out := &cri.ListPodSandboxMetricsResponse{}
	for _, stats := range list {
		out.PodMetrics = append(out.PodMetrics, sandboxMetrics(stats))
	}
	return out, nil
}

func sandboxMetrics(s *cri.PodSandboxStats) *cri.PodSandboxMetrics {
	id, name := s.GetAttributes().GetId(), s.GetAttributes().GetMetadata().GetName()
	out := &cri.PodSandboxMetrics{PodSandboxId: id}
	for _, i := range s.GetLinux().GetNetwork().GetInterfaces() {
		for _, m := range networkMetrics {
			out.Metrics = append(out.Metrics, &cri.Metric{Name: m.name, Timestamp: s.GetLinux().GetNetwork().GetTimestamp(), MetricType: cri.MetricType_COUNTER,
				LabelValues: []string{id, name, i.GetName()}, Value: m.value(i)})
		}
	}
	for _, c := range s.GetLinux().GetContainers() {
		attributes := c.GetAttributes()
		metrics := &cri.ContainerMetrics{ContainerId: attributes.GetId()}
		for _, m := range containerMetrics {
			if value := m.value(c); value != nil {
				metrics.Metrics = append(metrics.Metrics, &cri.Metric{Name: m.name, Timestamp: c.GetMemory().GetTimestamp(), MetricType: m.kind,
					LabelValues: []string{attributes.GetId(), attributes.GetMetadata().GetName()}, Value: value})
			}
		}
		out.ContainerMetrics = append(out.ContainerMetrics, metrics)
	}
	return out
}
