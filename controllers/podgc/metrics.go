package podgc

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/internal/metrics"
)

// podGCMetrics are kube-controller-manager's metrics of the same loop.
type podGCMetrics struct{ removals, errors *prometheus.CounterVec }

func newMetrics(registerer prometheus.Registerer) (*podGCMetrics, error) {
	vector := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pod_gc_collector_" + name, Help: help}, []string{"namespace", "reason"})
	}
	c := &podGCMetrics{
		removals: vector("force_delete_pods_total", "Number of times that a pod was to be removed without grace, by the reason; those that failed included."),
		errors:   vector("force_delete_pod_errors_total", "Number of times that removing a pod failed, by the reason; each is tried again."),
	}
	return c, metrics.Register(registerer, c.removals, c.errors)
}

// observe counts a try.
func (c *podGCMetrics) observe(r *podgc.Removal, err error) {
	// The reasons are upstream's but for the last, a rule that upstream does not have.
	reason := [...]string{podgc.OutOfService: "out-of-service", podgc.Orphan: "orphaned", podgc.Unscheduled: "unscheduled",
		podgc.Terminated: "terminated", podgc.Evicted: "evicted"}[r.Reason]
	c.removals.WithLabelValues(r.Pod.Namespace, reason).Inc()
	if err != nil {
		c.errors.WithLabelValues(r.Pod.Namespace, reason).Inc()
	}
}
