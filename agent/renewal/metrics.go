package renewal

import (
	"crypto/tls"

	"github.com/prometheus/client_golang/prometheus"
)

// Register adds the validity of the certificates of a node to a registry.
func (r *Renewal) Register(registry prometheus.Registerer) {
	register(registry, "kubelet-client", r.Client)
	register(registry, "kubelet-server", r.Serving)
}

// register adds the validity of a certificate to a registry.
func register(registry prometheus.Registerer, name string, current func() *tls.Certificate) {
	add := func(metric, help string, value func(*tls.Certificate) int64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metric, Help: help, ConstLabels: prometheus.Labels{"certificate": name}}, func() float64 {
			if c := current(); c != nil && c.Leaf != nil {
				return float64(value(c))
			}
			return 0
		}))
	}
	add("berth_certificate_not_before_timestamp_seconds", "Time from which a certificate that the process renews is valid, in seconds since 1970; 0 if there is none.",
		func(c *tls.Certificate) int64 { return c.Leaf.NotBefore.Unix() })
	add("berth_certificate_not_after_timestamp_seconds", "Time at which a certificate that the process renews expires, in seconds since 1970; 0 if there is none.",
		func(c *tls.Certificate) int64 { return c.Leaf.NotAfter.Unix() })
}
