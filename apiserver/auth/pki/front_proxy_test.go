package pki

import (
	"bytes"
	"crypto/x509"
	"maps"
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
		t.Errorf("got common name %q, want %q", cert.Subject.CommonName, FrontProxyUser)
	}
	if parsed, err := parseCert(first); err != nil || a.isSignedByCA(parsed) {
		t.Errorf("certificate of the front proxy: got parse error %v or a signature by the CA of clients, want neither", err)
	}
	expiry := func() map[string]float64 {
		expires := certificateExpiry(t)
		return map[string]float64{"front-proxy-ca": expires["front-proxy-ca"], FrontProxyUser: expires[FrontProxyUser]}
	}
	want := map[string]float64{"front-proxy-ca": float64(now.Add(caLifetime).Unix()), FrontProxyUser: float64(now.Add(leafLifetime).Unix())}
	if got := expiry(); !maps.Equal(got, want) {
		t.Errorf("metrics after the creation: got %v, want %v", got, want)
	}
	validityMetrics().notAfter.Reset()
	if second, err := a.FrontProxy(); err != nil || !bytes.Equal(first, read(t, second.CertFile)) {
		t.Errorf("second call: got error %v or a new certificate, want the current one", err)
	}
	if got := expiry(); !maps.Equal(got, want) {
		t.Errorf("metrics of a process that uses the existing files: got %v, want %v", got, want)
	}
	renewed := now.Add(leafLifetime * 9 / 10)
	if _, err := open(t, dir, renewed).FrontProxy(); err != nil {
		t.Fatal(err)
	}
	if verify(t, read(t, files.CAFile), read(t, files.CertFile), renewed.Add(leafLifetime/2), options); bytes.Equal(first, read(t, files.CertFile)) {
		t.Error("after 90 % of the lifetime: got the first certificate, want a new one")
	}
	if got, want := expiry()[FrontProxyUser], float64(renewed.Add(leafLifetime).Unix()); got != want {
		t.Errorf("metric after the renewal: got %v, want %v", got, want)
	}
}
