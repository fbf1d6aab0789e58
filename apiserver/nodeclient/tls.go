package nodeclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"

	"github.com/berthproject/berth/apiserver/auth/pki"
)

// clientIdentity is the certificate that the API server presents to node agents. Its key is never
// written to disk.
type clientIdentity struct {
	authority *pki.Authority

	mu   sync.Mutex
	cert *pki.RenewingCertificate
}

// tlsConfig returns the TLS configuration for an agent with the common name.
func (i *clientIdentity) tlsConfig(commonName string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// The certificate identifies the node, not the address. verify checks it.
		InsecureSkipVerify:   true,
		VerifyConnection:     func(s tls.ConnectionState) error { return i.verify(s, commonName) },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return i.clientCertificate() },
	}
}

// verify checks that the peer's certificate is signed by the CA and has the common name.
func (i *clientIdentity) verify(s tls.ConnectionState, commonName string) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the node agent has no certificate")
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(i.authority.CAPEM())
	for _, cert := range s.PeerCertificates[1:] {
		intermediates.AddCert(cert)
	}
	leaf := s.PeerCertificates[0]
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
		if leaf.Issuer.String() == leaf.Subject.String() {
			return fmt.Errorf("%w: the node agent uses a self-signed certificate, because its credential is not valid for serving: create a new one with berth credentials", err)
		}
		return err
	}
	if leaf.Subject.CommonName != commonName {
		return fmt.Errorf("the certificate of the node agent is for %q, want %q", leaf.Subject.CommonName, commonName)
	}
	return nil
}

// clientCertificate returns the client certificate. The first call creates it.
func (i *clientIdentity) clientCertificate() (*tls.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cert == nil {
		cert, err := i.authority.RenewingClient(pki.KubeletClient())
		if err != nil {
			return nil, err
		}
		i.cert = cert
	}
	return i.cert.Certificate(), nil
}
