package image

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the Prometheus metrics of a Puller, under the kubelet's names.
type Metrics struct {
	duration *prometheus.HistogramVec
}

// sizeBuckets are the kubelet's size classes.
var sizeBuckets = []struct {
	limit uint64 // in bytes
	name  string
}{{10 << 20, "0-10MB"}, {100 << 20, "10MB-100MB"}, {500 << 20, "100MB-500MB"}, {1 << 30, "500MB-1GB"}, {5 << 30, "1GB-5GB"},
	{10 << 30, "5GB-10GB"}, {20 << 30, "10GB-20GB"}, {30 << 30, "20GB-30GB"}, {40 << 30, "30GB-40GB"}, {60 << 30, "40GB-60GB"}, {100 << 30, "60GB-100GB"}}

const largestBucket = "GT100GB"

// NewMetrics returns metrics with all values 0.
func NewMetrics() *Metrics {
	m := &Metrics{duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "kubelet_image_pull_duration_seconds", Help: "Duration in seconds to pull an image.",
		Buckets: []float64{1, 5, 10, 20, 30, 60, 180, 300, 600, 900, 1200, 1800, 3600},
	}, []string{"image_size_in_bytes"})}
	for _, s := range sizeBuckets {
		m.duration.WithLabelValues(s.name)
	}
	m.duration.WithLabelValues(largestBucket)
	return m
}

func (m *Metrics) observePull(bytes uint64, elapsed time.Duration) {
	name := largestBucket
	for _, s := range sizeBuckets {
		if bytes <= s.limit {
			name = s.name
			break
		}
	}
	m.duration.WithLabelValues(name).Observe(elapsed.Seconds())
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) { m.duration.Describe(ch) }

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) { m.duration.Collect(ch) }
