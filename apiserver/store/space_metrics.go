package store

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

type spaceGauges struct {
	available, threshold, readOnly *metrics.Gauge
	rejected                       *metrics.Counter
}

// spaceMetrics returns the metrics about the space of the embedded store. The first call registers them in the
// legacy registry, which /metrics exposes.
var spaceMetrics = sync.OnceValue(func() spaceGauges {
	gauge := func(name, help string) *metrics.Gauge {
		g := metrics.NewGauge(&metrics.GaugeOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA})
		legacyregistry.MustRegister(g)
		return g
	}
	rejected := metrics.NewCounter(&metrics.CounterOpts{Name: "berth_storage_rejected_writes_total", StabilityLevel: metrics.ALPHA,
		Help: "Number of writes that the store rejected because its file system is nearly full."})
	legacyregistry.MustRegister(rejected)
	return spaceGauges{
		available: gauge("berth_storage_available_bytes", "Available bytes of the file system of the data directory."),
		threshold: gauge("berth_storage_threshold_bytes", "Available bytes below which the store is read-only."),
		readOnly:  gauge("berth_storage_read_only", "1 while the store is read-only because its file system is nearly full, else 0."),
		rejected:  rejected,
	}
})

// observe sets the gauges. The caller must hold the lock of g.
func (m spaceGauges) observe(g *spaceGuard) {
	m.available.Set(float64(g.last.available))
	m.threshold.Set(float64(g.threshold()))
	m.readOnly.Set(float64(min(g.level, 1)))
}
