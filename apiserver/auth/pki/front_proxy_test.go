package pki

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"
)

func TestFrontProxyCertificateIsRenewed(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	a := open(t, dir, now)
	files, err := a.FrontProxy()
	if err != nil {
		t.Fatal(err)
	}
	first := read(t, files.CertFile)
	options := x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if cert := verify(t, read(t, files.CAFile), first, now, options); cert.Subject.CommonName != FrontProxyUser {
		t.Errorf("common name is %q, want %q", cert.Subject.CommonName, FrontProxyUser)
	}
	if parsed, err := parseCert(first); err != nil || a.isSignedByCA(parsed) {
		t.Errorf("the CA of clients signed the certificate of the front proxy (%v)", err)
	}
	if second, err := a.FrontProxy(); err != nil || !bytes.Equal(first, read(t, second.CertFile)) {
		t.Errorf("a current certificate was replaced (%v)", err)
	}
	renewed := now.Add(leafLifetime * 9 / 10)
	if _, err := open(t, dir, renewed).FrontProxy(); err != nil {
		t.Fatal(err)
	}
	if verify(t, read(t, files.CAFile), read(t, files.CertFile), renewed.Add(leafLifetime/2), options); bytes.Equal(first, read(t, files.CertFile)) {
		t.Error("the certificate was not renewed after 90 % of its lifetime")
	}
}
