package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// Retention times of CertificateSigningRequests, as in kube-controller-manager.
const (
	decidedRetention = time.Hour
	pendingRetention = 24 * time.Hour
)

// expiresIn returns the time until a request is due for removal. It is zero or negative once the request is due.
func (c *controller) expiresIn(r *certificatesv1.CertificateSigningRequest) time.Duration {
	now := c.now()
	until := r.CreationTimestamp.Add(pendingRetention)
	for i := range r.Status.Conditions {
		s := &r.Status.Conditions[i]
		switch s.Type {
		case certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			until = s.LastUpdateTime.Add(decidedRetention)
		case certificatesv1.CertificateApproved:
			if len(r.Status.Certificate) > 0 {
				until = s.LastUpdateTime.Add(decidedRetention)
			} else {
				until = s.LastUpdateTime.Add(pendingRetention)
			}
		}
	}
	if block, _ := pem.Decode(r.Status.Certificate); block != nil {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && cert.NotAfter.Before(until) {
			until = cert.NotAfter
		}
	}
	return until.Sub(now)
}
