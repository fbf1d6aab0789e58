package cronjob

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/internal/metrics"
)

// newMetrics registers the metric of the same controller in kube-controller-manager.
func newMetrics(registerer prometheus.Registerer) (skew prometheus.Histogram, err error) {
	skew = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "cronjob_controller_job_creation_skew_duration_seconds",
		Help: "Time between the scheduled time of a CronJob and the creation of its Job.", Buckets: prometheus.ExponentialBuckets(1, 2, 10)})
	return skew, metrics.Register(registerer, skew)
}
