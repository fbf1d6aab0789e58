package gc

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the Prometheus metrics of a Collector, under the kubelet's names where they exist.
type Metrics struct {
	images     *prometheus.CounterVec
	containers prometheus.Counter
}

// NewMetrics returns metrics with all values 0.
func NewMetrics() *Metrics {
	m := &Metrics{
		images: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubelet_image_garbage_collected_total", Help: "Total number of images garbage collected by the kubelet, whether through disk usage or image age.",
		}, []string{"reason"}),
		containers: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_containers_collected_total", Help: "Number of terminated containers removed by garbage collection.",
		}),
	}
	for _, reason := range []string{"age", "space"} {
		m.images.WithLabelValues(reason)
	}
	return m
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.images.Describe(ch)
	m.containers.Describe(ch)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.images.Collect(ch)
	m.containers.Collect(ch)
}
