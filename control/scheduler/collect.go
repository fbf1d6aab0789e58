package scheduler

import "github.com/prometheus/client_golang/prometheus"

var (
	pendingDesc = prometheus.NewDesc("scheduler_pending_pods", "Number of pending pods, by the queue.", []string{"queue"}, nil)
	arrivedDesc = prometheus.NewDesc("scheduler_queue_incoming_pods_total",
		"Number of pods added to scheduling queues by event and queue type.", []string{"queue", "event"}, nil)
)

// queueCollector shows how the queue stood after the last step.
type queueCollector struct{ m *metrics }

// Describe names the metrics.
func (q *queueCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- pendingDesc
	ch <- arrivedDesc
}

// Collect reads them. Pods in flight count as active, as upstream.
func (q *queueCollector) Collect(ch chan<- prometheus.Metric) {
	q.m.mu.Lock()
	defer q.m.mu.Unlock()
	d := q.m.depths
	for name, n := range map[string]int{"active": d.Active + d.InFlight, "backoff": d.Backoff, "unschedulable": d.Unschedulable, "gated": d.Gated} {
		ch <- prometheus.MustNewConstMetric(pendingDesc, prometheus.GaugeValue, float64(n), name)
	}
	for a, n := range q.m.arrivals {
		ch <- prometheus.MustNewConstMetric(arrivedDesc, prometheus.CounterValue, float64(n), a.pool, a.event)
	}
}
