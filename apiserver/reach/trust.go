package reach

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

// identity is who this server is to agents. The key is never written anywhere.
type identity struct {
	authority *pki.Authority

	mu   sync.Mutex
	cert *tls.Certificate
}

// config is how to speak to an agent that is called who.
func (i *identity) config(who string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// The certificate says which node it is for, not which address: verify checks that.
		InsecureSkipVerify:   true,
		VerifyConnection:     func(s tls.ConnectionState) error { return i.verify(s, who) },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return i.show() },
	}
}

// verify checks that the other side is an agent called who.
func (i *identity) verify(s tls.ConnectionState, who string) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the agent shows no certificate")
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(i.authority.CAPEM())
	for _, cert := range s.PeerCertificates[1:] {
		between.AddCert(cert)
	}
	leaf := s.PeerCertificates[0]
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
		if leaf.Issuer.String() == leaf.Subject.String() {
			return fmt.Errorf("%w: the agent shows a certificate of its own making, since its credential is not one to serve with: give it one of this release's berth credentials", err)
		}
		return err
	}
	if leaf.Subject.CommonName != who {
		return fmt.Errorf("the agent's certificate is for %q, want %q", leaf.Subject.CommonName, who)
	}
	return nil
}

// show is the server's own certificate, made when first needed.
func (i *identity) show() (*tls.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cert != nil && time.Until(i.cert.Leaf.NotAfter) > renewBefore {
		return i.cert, nil
	}
	certPEM, keyPEM, err := i.authority.ClientPEM(pki.APIServer())
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
