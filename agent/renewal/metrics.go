package renewal

import (
	"crypto/tls"

	"github.com/prometheus/client_golang/prometheus"
)

// Register adds the validity of the certificates to a registry.
func (r *Renewal) Register(registry prometheus.Registerer) {
	for name, current := range map[string]func() *tls.Certificate{"kubelet-client": r.Client, "kubelet-server": r.Serving} {
		add := func(metric, help string, value func(*tls.Certificate) int64) {
			registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metric, Help: help, ConstLabels: prometheus.Labels{"certificate": name}}, func() float64 {
				if c := current(); c != nil && c.Leaf != nil {
					return float64(value(c))
				}
				return 0
			}))
		}
		add("berth_certificate_not_before_timestamp_seconds", "Time from which a certificate that the agent renews is valid, in seconds since 1970; 0 if there is none.",
			func(c *tls.Certificate) int64 { return c.Leaf.NotBefore.Unix() })
		add("berth_certificate_not_after_timestamp_seconds", "Time at which a certificate that the agent renews expires, in seconds since 1970; 0 if there is none.",
			func(c *tls.Certificate) int64 { return c.Leaf.NotAfter.Unix() })
	}
}
