package componentserver

import (
	"net"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/util/cert"
)

// Certificate is a serving certificate. NewCertificate and dynamiccertificates.NewDynamicServingContentFromFiles
// return one.
type Certificate = dynamiccertificates.CertKeyContentProvider

// NewCertificate returns a serving certificate from PEM data.
func NewCertificate(certPEM, keyPEM []byte) (Certificate, error) {
	return dynamiccertificates.NewStaticCertKeyContent("serving-cert", certPEM, keyPEM)
}

// SelfSigned creates a certificate for a listen address, as Kubernetes components do without a configured one.
func SelfSigned(address string) (Certificate, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = "localhost"
	}
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"})
	if err != nil {
		return nil, err
	}
	return NewCertificate(certPEM, keyPEM)
}
