package nodeclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/berthproject/berth/apiserver/auth/pki"
)

// renewBefore is how long before its end the server's own certificate is made anew.
const renewBefore = 30 * 24 * time.Hour

// clientIdentity is who this server is to agents. The key is never written anywhere.
type clientIdentity struct {
	authority *pki.Authority

	mu   sync.Mutex
	cert *tls.Certificate
}

// tlsConfig is how to speak to an agent that is called who.
func (i *clientIdentity) tlsConfig(commonName string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// The certificate says which node it is for, not which address: verify checks that.
		InsecureSkipVerify:   true,
		VerifyConnection:     func(s tls.ConnectionState) error { return i.verify(s, commonName) },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return i.clientCertificate() },
	}
}

// verify checks that the other side is an agent called who.
func (i *clientIdentity) verify(s tls.ConnectionState, commonName string) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the agent shows no certificate")
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(i.authority.CAPEM())
	for _, cert := range s.PeerCertificates[1:] {
		intermediates.AddCert(cert)
	}
	leaf := s.PeerCertificates[0]
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
		if leaf.Issuer.String() == leaf.Subject.String() {
			return fmt.Errorf("%w: the agent shows a certificate of its own making, since its credential is not one to serve with: give it one of this release's berth credentials", err)
		}
		return err
	}
	if leaf.Subject.CommonName != commonName {
		return fmt.Errorf("the agent's certificate is for %q, want %q", leaf.Subject.CommonName, commonName)
	}
	return nil
}

// clientCertificate is the server's own certificate, made when first needed.
func (i *clientIdentity) clientCertificate() (*tls.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cert != nil && time.Until(i.cert.Leaf.NotAfter) > renewBefore {
		return i.cert, nil
	}
	certPEM, keyPEM, err := i.authority.ClientPEM(pki.KubeletClient())
	if err != nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	i.cert = &cert
	return i.cert, nil
}
