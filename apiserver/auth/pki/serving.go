package pki

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"
)

// AltNames are the subject alternative names of a serving certificate.
type AltNames struct {
	DNS []string
	IPs []net.IP
}

// APIServerAltNames returns the names of an API server: localhost, the kubernetes Service, the host
// name of this machine, and hosts. serviceIP may be nil. hosts are names or IP addresses;
// unspecified addresses are ignored.
func APIServerAltNames(serviceIP net.IP, hosts ...string) AltNames {
	if host, err := os.Hostname(); err == nil {
		hosts = append(hosts, host)
	}
	return ReservedAltNames(serviceIP, hosts...)
}

// ReservedAltNames is like APIServerAltNames but does not add the host name of this machine, which is the default name
// of its node.
func ReservedAltNames(serviceIP net.IP, hosts ...string) AltNames {
	n := AltNames{
		DNS: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		IPs: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if serviceIP != nil {
		n.IPs = append(n.IPs, serviceIP)
	}
	for _, host := range hosts {
		switch ip := net.ParseIP(host); {
		case host == "" || ip != nil && ip.IsUnspecified():
		case ip != nil && !slices.ContainsFunc(n.IPs, ip.Equal):
			n.IPs = append(n.IPs, ip)
		case ip == nil && !slices.Contains(n.DNS, host):
			n.DNS = append(n.DNS, host)
		}
	}
	return n
}

// ServingPair returns the paths of a certificate and key for names. It creates missing files, and
// replaces a certificate that is due for renewal, lacks a name, or does not match the CA or the key.
func (a *Authority) ServingPair(names AltNames) (certFile, keyFile string, err error) {
	certFile, keyFile = a.path("apiserver.crt"), a.path("apiserver.key")
	key, err := loadOrCreateKey(keyFile, false)
	if err != nil {
		return "", "", err
	}
	cert, err := readCert(certFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", "", err
	}
	if err == nil && a.isValidServingCert(cert, key, names) {
		observe("apiserver", cert)
		return certFile, keyFile, nil
	}
	cert, err = a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    names.DNS,
		IPAddresses: names.IPs,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, &key.PublicKey)
	if err != nil {
		return "", "", fmt.Errorf("creating the serving certificate: %w", err)
	}
	observe("apiserver", cert)
	return certFile, keyFile, WriteFileAtomic(certFile, encodeCert(cert.Raw))
}

// isValidServingCert reports whether cert is signed by the CA, matches key, is not due for renewal
// and covers names.
func (a *Authority) isValidServingCert(cert *x509.Certificate, key *ecdsa.PrivateKey, names AltNames) bool {
	if needsRenewal(cert, a.now()) || !a.isSignedByCA(cert) || !key.PublicKey.Equal(cert.PublicKey) {
		return false
	}
	for _, name := range names.DNS {
		if !slices.Contains(cert.DNSNames, name) {
			return false
		}
	}
	for _, ip := range names.IPs {
		if !slices.ContainsFunc(cert.IPAddresses, ip.Equal) {
			return false
		}
	}
	return true
}

func (a *Authority) isSignedByCA(cert *x509.Certificate) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return cert.CheckSignatureFrom(a.cert) == nil
}

// RunRenewal renews the CA certificate, the serving certificate and that of FrontProxy when they are due. It checks
// them every interval until ctx is done, and passes errors to report. The generic server reloads the files itself.
func (a *Authority) RunRenewal(ctx context.Context, interval time.Duration, names AltNames, report func(error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := a.loadCA()
		if err == nil {
			_, _, err = a.ServingPair(names)
		}
		if err == nil {
			_, err = a.FrontProxy()
		}
		if err != nil {
			report(err)
		}
	}
}
