//go:build linux

package pressure

import (
	"testing"

	"github.com/berthproject/berth/internal/testkit/reference"
)

// TestMetricsReference checks the section of this package in docs/reference/metrics.md.
func TestMetricsReference(t *testing.T) {
	m := NewMetrics()
	reference.CheckSection(t, "metrics.md", reference.Metrics(t, m, m.statsAge))
}
