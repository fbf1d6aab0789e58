package renewal

import (
	"crypto/tls"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/internal/testkit/reference"
)

// TestMetricsReference checks the section of this package in docs/reference/metrics.md.
func TestMetricsReference(t *testing.T) {
	registry := prometheus.NewRegistry()
	register(registry, "kubelet-client", func() *tls.Certificate { return nil })
	reference.CheckSection(t, "metrics.md", reference.Metrics(t, registry))
}
