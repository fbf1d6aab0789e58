package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// resourceCollector exports a summary as the kubelet's resource metrics, with the time of each
// measurement.
type resourceCollector struct{ *stats.Summary }

var (
	nodeCPU            = prometheus.NewDesc("node_cpu_usage_seconds_total", "Cumulative cpu time consumed by the node in core-seconds", nil, nil)
	nodeMemory         = prometheus.NewDesc("node_memory_working_set_bytes", "Current working set of the node in bytes", nil, nil)
	podCPU             = prometheus.NewDesc("pod_cpu_usage_seconds_total", "Cumulative cpu time consumed by the pod in core-seconds", []string{"namespace", "pod"}, nil)
	podMemory          = prometheus.NewDesc("pod_memory_working_set_bytes", "Current working set of the pod in bytes", []string{"namespace", "pod"}, nil)
	containerLabels    = []string{"container", "namespace", "pod"}
	containerCPU       = prometheus.NewDesc("container_cpu_usage_seconds_total", "Cumulative cpu time consumed by the container in core-seconds", containerLabels, nil)
	containerMemory    = prometheus.NewDesc("container_memory_working_set_bytes", "Current working set of the container in bytes", containerLabels, nil)
	containerStartTime = prometheus.NewDesc("container_start_time_seconds", "Start time of the container since unix epoch in seconds", containerLabels, nil)
	scrapeFailed       = prometheus.NewDesc("resource_scrape_error", "1 if there was an error while getting container metrics, 0 otherwise", nil, nil)
)

// Describe implements prometheus.Collector.
func (r resourceCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{nodeCPU, nodeMemory, podCPU, podMemory, containerCPU, containerMemory, containerStartTime, scrapeFailed} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (r resourceCollector) Collect(ch chan<- prometheus.Metric) {
	sendCPU(ch, nodeCPU, r.Node.CPU)
	sendMemory(ch, nodeMemory, r.Node.Memory)
	for _, p := range r.Pods {
		sendCPU(ch, podCPU, p.CPU, p.PodRef.Namespace, p.PodRef.Name)
		sendMemory(ch, podMemory, p.Memory, p.PodRef.Namespace, p.PodRef.Name)
		for _, c := range p.Containers {
			labels := []string{c.Name, p.PodRef.Namespace, p.PodRef.Name}
			sendCPU(ch, containerCPU, c.CPU, labels...)
			sendMemory(ch, containerMemory, c.Memory, labels...)
			ch <- prometheus.MustNewConstMetric(containerStartTime, prometheus.GaugeValue, float64(c.StartTime.UnixNano())/float64(time.Second), labels...)
		}
	}
	ch <- prometheus.MustNewConstMetric(scrapeFailed, prometheus.GaugeValue, 0)
}

func sendCPU(ch chan<- prometheus.Metric, d *prometheus.Desc, s *stats.CPUStats, labels ...string) {
	if s == nil || s.UsageCoreNanoSeconds == nil {
		return
	}
	sendSample(ch, s.Time, prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(*s.UsageCoreNanoSeconds)/float64(time.Second), labels...))
}

func sendMemory(ch chan<- prometheus.Metric, d *prometheus.Desc, s *stats.MemoryStats, labels ...string) {
	if s == nil || s.WorkingSetBytes == nil {
		return
	}
	sendSample(ch, s.Time, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(*s.WorkingSetBytes), labels...))
}

func sendSample(ch chan<- prometheus.Metric, when metav1.Time, m prometheus.Metric) {
	if !when.IsZero() {
		m = prometheus.NewMetricWithTimestamp(when.Time, m)
	}
	ch <- m
}
