package pki

import (
	"testing"

	"github.com/berthproject/berth/internal/testkit/reference"
)

// TestMetricsReference checks the section of this package in docs/reference/metrics.md.
func TestMetricsReference(t *testing.T) {
	m := validityMetrics()
	reference.CheckSection(t, "metrics.md", reference.Metrics(t, m.notBefore.GaugeVec, m.notAfter.GaugeVec))
}
