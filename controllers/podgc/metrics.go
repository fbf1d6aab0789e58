package podgc

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/internal/metrics"
)

// podGCMetrics are the metrics of the same controller in kube-controller-manager.
type podGCMetrics struct{ removals, errors *prometheus.CounterVec }

func newMetrics(registerer prometheus.Registerer) (*podGCMetrics, error) {
	vector := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pod_gc_collector_" + name, Help: help}, []string{"namespace", "reason"})
	}
	c := &podGCMetrics{
		removals: vector("force_delete_pods_total", "Number of attempts to force-delete pods, by reason, including failed ones."),
		errors:   vector("force_delete_pod_errors_total", "Number of failed attempts to force-delete pods, by reason."),
	}
	return c, metrics.Register(registerer, c.removals, c.errors)
}

func (m *podGCMetrics) observe(r *podgc.Removal, err error) {
	// These are upstream's reasons, except the last one, which upstream does not have.
	reason := [...]string{podgc.OutOfService: "out-of-service", podgc.Orphan: "orphaned", podgc.Unscheduled: "unscheduled",
		podgc.Terminated: "terminated", podgc.Evicted: "evicted"}[r.Reason]
	m.removals.WithLabelValues(r.Pod.Namespace, reason).Inc()
	if err != nil {
		m.errors.WithLabelValues(r.Pod.Namespace, reason).Inc()
	}
}
