package nodelifecycle

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/internal/testkit/reference"
)

// TestMetricsReference checks the section of this package in docs/reference/metrics.md.
func TestMetricsReference(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	m.zones = make([]nodelifecycle.Zone, 1)
	reference.CheckSection(t, "metrics.md", reference.Metrics(t, registry, m.evictions))
}
