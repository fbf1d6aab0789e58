package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
)

// ServingPEM issues a serving certificate for a component with a new key. Neither is stored in a file.
func (a *Authority) ServingPEM(component string, names AltNames) (certPEM, keyPEM []byte, err error) {
	key, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	cert, err := a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: component},
		DNSNames:    names.DNS,
		IPAddresses: names.IPs,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, &key.PublicKey)
	if err != nil {
		return nil, nil, fmt.Errorf("issuing the serving certificate of %s: %w", component, err)
	}
	if keyPEM, err = encodeKey(key); err != nil {
		return nil, nil, err
	}
	return encodeCert(cert.Raw), keyPEM, nil
}
