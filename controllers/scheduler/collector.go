package scheduler

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/decision"
)

var (
	pendingDesc  = prometheus.NewDesc("scheduler_pending_pods", "Number of pending pods, by the queue.", []string{"queue"}, nil)
	incomingDesc = prometheus.NewDesc("scheduler_queue_incoming_pods_total",
		"Number of pods added to scheduling queues by event and queue type.", []string{"queue", "event"}, nil)
	goroutinesDesc = prometheus.NewDesc("scheduler_goroutines", "Number of requests in flight, by operation.", []string{"operation"}, nil)
	inFlightDesc   = prometheus.NewDesc("scheduler_inflight_events", "Number of pods in scheduling attempts.", []string{"event"}, nil)
	flushedDesc    = prometheus.NewDesc("scheduler_pod_scheduled_after_flush_total",
		"Number of pods that were scheduled after they were moved out of the unschedulable queue because of a timeout.", nil, nil)
	staleWakeupsDesc = prometheus.NewDesc("berth_scheduler_stale_wakeups_total",
		"Number of pods that returned to the unschedulable queue without a decision, because the event that had moved them no longer applied when they were popped.", nil, nil)
	deprecatedStaleWakeupsDesc = prometheus.NewDesc("berth_scheduler_lulled_pods_total", "Deprecated: see berth_scheduler_stale_wakeups_total.", nil, nil)
	rejectedDesc               = prometheus.NewDesc("scheduler_unschedulable_pods",
		"Number of unschedulable pods by plugin; a pod counts for each plugin that rejected it.", []string{"plugin", "profile"}, nil)
	cacheDesc = prometheus.NewDesc("scheduler_cache_size", "Number of nodes, pods and assumed pods in the cache.", []string{"type"}, nil)
)

// collector exposes the state after the last step of the scheduling loop.
type collector struct{ m *metrics }

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- pendingDesc
	ch <- incomingDesc
	ch <- cacheDesc
	ch <- goroutinesDesc
	ch <- inFlightDesc
	ch <- flushedDesc
	ch <- staleWakeupsDesc
	ch <- deprecatedStaleWakeupsDesc
	c.m.evaluations.count.Describe(ch)
}

// Collect implements prometheus.Collector. Pods in flight are in no queue, as in kube-scheduler.
// scheduler_inflight_events counts them.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	d := c.m.depths
	gauge := func(desc *prometheus.Desc, label string, n int) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), label)
	}
	gauge(pendingDesc, "active", d.Active)
	gauge(pendingDesc, "backoff", d.Backoff)
	gauge(pendingDesc, "unschedulable", d.Unschedulable)
	gauge(pendingDesc, "gated", d.Gated)
	for kind, n := range c.m.cache {
		gauge(cacheDesc, kind, n)
	}
	for a, n := range c.m.arrivals {
		ch <- prometheus.MustNewConstMetric(incomingDesc, prometheus.CounterValue, float64(n), a.pool, a.event)
	}
	ch <- prometheus.MustNewConstMetric(flushedDesc, prometheus.CounterValue, float64(c.m.wakeups.Flushed))
	for _, desc := range []*prometheus.Desc{staleWakeupsDesc, deprecatedStaleWakeupsDesc} {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(c.m.wakeups.StaleWakeups))
	}
	gauge(inFlightDesc, "PodPopped", d.InFlight)
	c.m.evaluations.flush()
	c.m.evaluations.count.Collect(ch)
	gauge(goroutinesDesc, "binding", int(c.m.binding.Load()))
	gauge(goroutinesDesc, "prioritizing_extender", int(c.m.scoring()))
}

// rejectedCollector exposes the number of pending pods that each plugin rejected. It queries the scheduling loop.
type rejectedCollector struct{ s *scheduler }

// Describe implements prometheus.Collector.
func (c *rejectedCollector) Describe(ch chan<- *prometheus.Desc) { ch <- rejectedDesc }

// Collect implements prometheus.Collector. If the loop does not answer within a second, it reports the previous values.
func (c *rejectedCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	counts, _, _ := c.s.rejectionSnapshot.get(ctx, c.s.countRejections)
	counts.byPlugin(func(plugin decision.Plugin, profile string, n int) {
		ch <- prometheus.MustNewConstMetric(rejectedDesc, prometheus.GaugeValue, float64(n), plugin.String(), profile)
	})
}
