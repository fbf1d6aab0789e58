package store

import (
	"testing"

	"github.com/berthproject/berth/internal/testkit/reference"
)

// TestMetricsReference checks the section of this package in docs/reference/metrics.md.
func TestMetricsReference(t *testing.T) {
	m := spaceMetrics()
	reference.CheckSection(t, "metrics.md", reference.Metrics(t, m.available, m.threshold, m.readOnly, m.rejected))
}
