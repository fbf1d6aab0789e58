package descheduler

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/internal/testkit/reference"
)

// TestMetricsReference checks the section of this package in docs/reference/metrics.md.
func TestMetricsReference(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	reference.CheckSection(t, "metrics.md", reference.Metrics(t, registry,
		m.evictions, m.deprecatedEvictions, m.strategyDuration, m.deprecatedStrategyDuration, m.refusals))
}
