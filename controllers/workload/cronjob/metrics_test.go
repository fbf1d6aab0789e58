package cronjob

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/internal/testkit/reference"
)

// TestMetricsReference checks the section of this package in docs/reference/metrics.md.
func TestMetricsReference(t *testing.T) {
	registry := prometheus.NewRegistry()
	if _, err := newMetrics(registry); err != nil {
		t.Fatal(err)
	}
	reference.CheckSection(t, "metrics.md", reference.Metrics(t, registry))
}
