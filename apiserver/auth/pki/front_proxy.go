package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"os"
)

// FrontProxyUser is the name with which front proxies authenticate. The API server is the front proxy of aggregated API
// servers, and the web page of `berth up` is one of the API server.
const FrontProxyUser = "front-proxy-client"

// FrontProxy holds the paths of the client certificate of front proxies, its key, and the CA that verifies it. The CA is
// separate from that of clients, so no client can get a certificate that lets it act for other users.
type FrontProxy struct {
	CAFile, CertFile, KeyFile string
}

// FrontProxy returns the paths of the certificate, its key and its CA. It creates missing files and
// renews certificates that are due.
func (a *Authority) FrontProxy() (FrontProxy, error) {
	files := FrontProxy{CAFile: a.path("front-proxy-ca.crt"), CertFile: a.path("front-proxy-client.crt"), KeyFile: a.path("front-proxy-client.key")}
	caKey, err := loadOrCreateKey(a.path("front-proxy-ca.key"), a.exists("front-proxy-ca.crt"))
	if err != nil {
		return files, err
	}
	ca, err := readCert(files.CAFile)
	switch {
	case err == nil && !needsRenewal(ca, a.now()) && caKey.PublicKey.Equal(ca.PublicKey):
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return files, err
	default:
		if ca, err = a.signCA("front-proxy-ca", caKey); err != nil {
			return files, err
		}
		if err := WriteFileAtomic(files.CAFile, encodeCert(ca.Raw)); err != nil {
			return files, err
		}
	}
	observe("front-proxy-ca", ca)
	key, err := loadOrCreateKey(files.KeyFile, false)
	if err != nil {
		return files, err
	}
	cert, err := readCert(files.CertFile)
	if err == nil && !needsRenewal(cert, a.now()) && cert.CheckSignatureFrom(ca) == nil && key.PublicKey.Equal(cert.PublicKey) {
		observe(FrontProxyUser, cert)
		return files, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return files, err
	}
	cert, err = a.issueFrom(ca, caKey, &x509.Certificate{
		Subject:     pkix.Name{CommonName: FrontProxyUser},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, &key.PublicKey)
	if err != nil {
		return files, fmt.Errorf("creating the certificate of the front proxy: %w", err)
	}
	if err := WriteFileAtomic(files.CertFile, encodeCert(cert.Raw)); err != nil {
		return files, err
	}
	observe(FrontProxyUser, cert)
	return files, nil
}
