//go:build linux

package pressure

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/nodepressure"
)

// Metrics are the metrics of a Manager, with the kubelet's names where they exist there.
type Metrics struct {
	evictions                *prometheus.CounterVec
	statsAge                 *prometheus.HistogramVec
	reaction                 prometheus.Histogram
	syncs, deprecatedSyncs   *prometheus.CounterVec
	byAlarm, byClock, byWake syncCounters
	available                *prometheus.GaugeVec
	stalled                  prometheus.Gauge
	availableBySignal        [nodepressure.NumSignals]prometheus.Gauge // of available
}

// NewMetrics returns metrics without observations.
func NewMetrics() *Metrics {
	m := &Metrics{
		evictions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubelet_evictions", Help: "Cumulative number of pod evictions by eviction signal",
		}, []string{"eviction_signal"}),
		statsAge: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kubelet_eviction_stats_age_seconds", Help: "Time between when stats are collected, and when pod is evicted based on those stats by eviction signal",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"eviction_signal"}),
		reaction: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_pressure_reaction_seconds", Help: "Time from wake-up until SIGKILL was sent to the evicted pod's cgroup",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1},
		}),
		syncs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_pressure_syncs_total", Help: "Number of reads of the node's statistics by trigger",
		}, []string{"by"}),
		deprecatedSyncs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_pressure_looks_total", Help: "Deprecated: use berth_pressure_syncs_total",
		}, []string{"by"}),
		available: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "berth_pressure_available", Help: "Last available amount of an eviction signal in bytes, inodes or processes",
		}, []string{"eviction_signal"}),
		stalled: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "berth_pressure_memory_stalled_seconds", Help: "Total time since boot in which a process of the node waited for memory (PSI)",
		}),
	}
	for s := range nodepressure.NumSignals {
		m.evictions.WithLabelValues(s.String())
		m.availableBySignal[s] = m.available.WithLabelValues(s.String())
	}
	m.byAlarm, m.byClock, m.byWake = m.countersOf(byAlarm), m.countersOf(byClock), m.countersOf(byWake)
	return m
}

// syncCounters are the counters of one trigger, resolved once to avoid allocations: that of syncs and that of the
// deprecated metric.
type syncCounters [2]prometheus.Counter

func (m *Metrics) countersOf(trigger string) syncCounters {
	return syncCounters{m.syncs.WithLabelValues(trigger), m.deprecatedSyncs.WithLabelValues(trigger)}
}

func (c *syncCounters) inc() {
	for _, counter := range c {
		counter.Inc()
	}
}

// Triggers of a synchronization.
const (
	byAlarm = "alarm"
	byClock = "clock"
	byWake  = "wake"
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(ch)
	}
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.evictions, m.statsAge, m.reaction, m.syncs, m.deprecatedSyncs, m.available, m.stalled}
}

func (m *Metrics) countSync(trigger string) {
	switch trigger {
	case byAlarm:
		m.byAlarm.inc()
	case byWake:
		m.byWake.inc()
	default:
		m.byClock.inc()
	}
}

func (m *Metrics) observe(o *nodepressure.Observation) {
	for signal := range o.Signals {
		if o.Signals[signal].Known {
			m.availableBySignal[signal].Set(float64(o.Signals[signal].Available))
		}
	}
	if o.PageCache.StallTime >= 0 {
		m.stalled.Set(o.PageCache.StallTime.Seconds())
	}
}
