package pki

import (
	"crypto/x509"
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

type certificateMetrics struct{ notBefore, notAfter *metrics.GaugeVec }

// validityMetrics returns the metrics of the certificates that authorities of this process issued and
// renew. They are registered in the legacy registry, which /metrics exposes.
var validityMetrics = sync.OnceValue(func() certificateMetrics {
	gauge := func(name, help string) *metrics.GaugeVec {
		g := metrics.NewGaugeVec(&metrics.GaugeOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA}, []string{"certificate"})
		legacyregistry.MustRegister(g)
		return g
	}
	return certificateMetrics{
		notBefore: gauge("berth_certificate_not_before_timestamp_seconds", "Time from which a certificate of this process is valid, in seconds since 1970."),
		notAfter:  gauge("berth_certificate_not_after_timestamp_seconds", "Time at which a certificate of this process expires, in seconds since 1970."),
	}
})

// observe sets the metrics of a certificate.
func observe(name string, cert *x509.Certificate) {
	v := validityMetrics()
	v.notBefore.WithLabelValues(name).Set(float64(cert.NotBefore.Unix()))
	v.notAfter.WithLabelValues(name).Set(float64(cert.NotAfter.Unix()))
}
