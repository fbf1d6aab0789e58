package scheduler

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/scheduling"
)

var (
	cacheBytesDesc = prometheus.NewDesc("berth_scheduler_cache_bytes",
		"Approximate memory of what is kept for later decisions: specifications shared by equal pods, counters and terms of the index, equivalence classes with score caches, and recent decisions.",
		[]string{"cache"}, nil)
	cacheEntriesDesc = prometheus.NewDesc("berth_scheduler_cache_entries", "Number of entries of the caches in berth_scheduler_cache_bytes.", []string{"cache"}, nil)
)

// cacheCollector exposes the size of the caches after the last step. Each has a bound in bytes.
type cacheCollector struct{ m *metrics }

// Describe implements prometheus.Collector.
func (c *cacheCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- cacheBytesDesc
	ch <- cacheEntriesDesc
}

// Collect implements prometheus.Collector.
func (c *cacheCollector) Collect(ch chan<- prometheus.Metric) {
	c.m.mu.Lock()
	usage, conversions, decisions := c.m.caches, c.m.conversions, c.m.decisions
	c.m.mu.Unlock()
	emit := func(cache string, entries, bytes int) {
		ch <- prometheus.MustNewConstMetric(cacheBytesDesc, prometheus.GaugeValue, float64(bytes), cache)
		ch <- prometheus.MustNewConstMetric(cacheEntriesDesc, prometheus.GaugeValue, float64(entries), cache)
	}
	emit("index", usage.IndexEntries, usage.IndexBytes)
	emit("classes", usage.ClassEntries, usage.ClassBytes)
	if conversions != nil {
		entries, bytes := conversions()
		emit("specifications", entries, bytes)
	}
	if decisions != nil {
		entries, bytes := decisions()
		emit("decisions", entries, bytes)
	}
}

// setCaches sets the functions that return the entries and bytes of the caches outside of the machine.
func (m *metrics) setCaches(conversions, decisions func() (entries, bytes int)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conversions, m.decisions = conversions, decisions
}

type cacheSizes struct {
	caches                 scheduling.CacheUsage
	conversions, decisions func() (entries, bytes int) // nil: unknown
}
