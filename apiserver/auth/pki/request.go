package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// SignRequest signs a parsed request for a client or a server, whose subject and names the caller has
// approved. The certificate is valid for ttl, but for at most one year and not longer than the CA.
func (a *Authority) SignRequest(request *x509.CertificateRequest, usages []x509.ExtKeyUsage, keyUsage x509.KeyUsage, ttl time.Duration) (certPEM []byte, err error) {
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("verifying the signature of the certificate request: %w", err)
	}
	if len(usages) == 0 {
		return nil, errors.New("certificate request: no extended key usage")
	}
	a.mu.RLock()
	ca := a.cert
	a.mu.RUnlock()
	now := a.now()
	template := &x509.Certificate{
		Subject: request.Subject, DNSNames: request.DNSNames, IPAddresses: request.IPAddresses,
		EmailAddresses: request.EmailAddresses, URIs: request.URIs,
		ExtKeyUsage: usages, KeyUsage: keyUsage, BasicConstraintsValid: true,
		NotBefore: now.Add(-min(backdate, ttl/10)), NotAfter: now.Add(min(ttl, leafLifetime)),
	}
	if template.NotAfter.After(ca.NotAfter) {
		template.NotAfter = ca.NotAfter
	}
	cert, err := sign(template, ca, request.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("signing a certificate for %q: %w", request.Subject.CommonName, err)
	}
	return encodeCert(cert.Raw), nil
}
