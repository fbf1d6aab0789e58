package pki

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
)

func TestServingPEMIsValidForNames(t *testing.T) {
	a := open(t, t.TempDir(), start)
	certPEM, keyPEM, err := a.ServingPEM("kube-scheduler", APIServerAltNames(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Errorf("PEM pair: got error %v, want none", err)
	}
	for _, name := range []string{"localhost", "127.0.0.1"} {
		verify(t, a.CAPEM(), certPEM, start, x509.VerifyOptions{DNSName: name, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	}
}
