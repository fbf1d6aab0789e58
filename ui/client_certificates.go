package ui

import (
	"crypto/x509"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// ClientCertificates lets users sign in with client certificates. A server cannot present the certificate of its client
// to the API server. It therefore authenticates as a front proxy, which names the user in headers.
type ClientCertificates struct {
	// Verify returns how certificates of users are verified, and false if the CA is not loaded.
	Verify func() (x509.VerifyOptions, bool)
	// FrontProxy is the API server with the certificate of a front proxy. Without the headers of a user it has no
	// permissions.
	FrontProxy *rest.Config
}

// configFor returns the client configuration of the user that the request's certificate names, or nil.
func (c *ClientCertificates) configFor(r *http.Request) *rest.Config {
	if c == nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil
	}
	options, ok := c.Verify()
	if !ok {
		return nil
	}
	cert := r.TLS.PeerCertificates[0]
	options.Intermediates = x509.NewCertPool()
	for _, intermediate := range r.TLS.PeerCertificates[1:] {
		options.Intermediates.AddCert(intermediate)
	}
	if _, err := cert.Verify(options); err != nil || cert.Subject.CommonName == "" {
		return nil
	}
	config := rest.CopyConfig(c.FrontProxy)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport.NewAuthProxyRoundTripper(cert.Subject.CommonName, "", cert.Subject.Organization, nil, next)
	})
	return withoutRateLimit(config)
}
