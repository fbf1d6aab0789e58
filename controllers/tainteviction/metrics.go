package tainteviction

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/internal/metrics"
)

// evictionMetrics are the metrics of the same controller in kube-controller-manager.
type evictionMetrics struct {
	deletions prometheus.Counter
	latency   prometheus.Histogram
}

func newMetrics(registerer prometheus.Registerer) (*evictionMetrics, error) {
	c := &evictionMetrics{
		deletions: prometheus.NewCounter(prometheus.CounterOpts{Name: "taint_eviction_controller_pod_deletions_total",
			Help: "Number of pods that were deleted because of NoExecute taints."}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "taint_eviction_controller_pod_deletion_duration_seconds",
			Help:    "Time from when the eviction of a pod was due to its deletion.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240}}),
	}
	return c, metrics.Register(registerer, c.deletions, c.latency)
}

// observeDeletion records the deletion of a pod. overdue is the time since its eviction was due.
func (m *evictionMetrics) observeDeletion(overdue time.Duration) {
	m.deletions.Inc()
	m.latency.Observe(max(0, overdue).Seconds())
}
