package serve

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// figures shows a summary under the names of the kubelet's resource metrics, each
// value with the time when it was measured.
type figures struct{ *stats.Summary }

var (
	nodeCPU       = prometheus.NewDesc("node_cpu_usage_seconds_total", "Cumulative cpu time consumed by the node in core-seconds", nil, nil)
	nodeMemory    = prometheus.NewDesc("node_memory_working_set_bytes", "Current working set of the node in bytes", nil, nil)
	podCPU        = prometheus.NewDesc("pod_cpu_usage_seconds_total", "Cumulative cpu time consumed by the pod in core-seconds", []string{"namespace", "pod"}, nil)
	podMemory     = prometheus.NewDesc("pod_memory_working_set_bytes", "Current working set of the pod in bytes", []string{"namespace", "pod"}, nil)
	container     = []string{"container", "namespace", "pod"}
	containerCPU  = prometheus.NewDesc("container_cpu_usage_seconds_total", "Cumulative cpu time consumed by the container in core-seconds", container, nil)
	containerMem  = prometheus.NewDesc("container_memory_working_set_bytes", "Current working set of the container in bytes", container, nil)
	containerFrom = prometheus.NewDesc("container_start_time_seconds", "Start time of the container since unix epoch in seconds", container, nil)
	scrapeFailed  = prometheus.NewDesc("resource_scrape_error", "1 if there was an error while getting container metrics, 0 otherwise", nil, nil)
)

// Describe implements prometheus.Collector.
func (f figures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{nodeCPU, nodeMemory, podCPU, podMemory, containerCPU, containerMem, containerFrom, scrapeFailed} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (f figures) Collect(ch chan<- prometheus.Metric) {
	cpu(ch, nodeCPU, f.Node.CPU)
	memory(ch, nodeMemory, f.Node.Memory)
	for _, p := range f.Pods {
		cpu(ch, podCPU, p.CPU, p.PodRef.Namespace, p.PodRef.Name)
		memory(ch, podMemory, p.Memory, p.PodRef.Namespace, p.PodRef.Name)
		for _, c := range p.Containers {
			labels := []string{c.Name, p.PodRef.Namespace, p.PodRef.Name}
			cpu(ch, containerCPU, c.CPU, labels...)
			memory(ch, containerMem, c.Memory, labels...)
			ch <- prometheus.MustNewConstMetric(containerFrom, prometheus.GaugeValue, float64(c.StartTime.UnixNano())/float64(time.Second), labels...)
		}
	}
	ch <- prometheus.MustNewConstMetric(scrapeFailed, prometheus.GaugeValue, 0)
}

func cpu(ch chan<- prometheus.Metric, d *prometheus.Desc, s *stats.CPUStats, labels ...string) {
	if s == nil || s.UsageCoreNanoSeconds == nil {
		return
	}
	at(ch, s.Time, prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(*s.UsageCoreNanoSeconds)/float64(time.Second), labels...))
}

func memory(ch chan<- prometheus.Metric, d *prometheus.Desc, s *stats.MemoryStats, labels ...string) {
	if s == nil || s.WorkingSetBytes == nil {
		return
	}
	at(ch, s.Time, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(*s.WorkingSetBytes), labels...))
}

func at(ch chan<- prometheus.Metric, when metav1.Time, m prometheus.Metric) {
	if !when.IsZero() {
		m = prometheus.NewMetricWithTimestamp(when.Time, m)
	}
	ch <- m
}
