package pki

import (
	"bytes"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

var start = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

// clockAt returns a clock that always returns now.
func clockAt(now time.Time) func() time.Time { return func() time.Time { return now } }

func open(t *testing.T, dir string, now time.Time) *Authority {
	t.Helper()
	a, err := Open(dir, clockAt(now))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// verify verifies cert with the CA at the given time and returns the parsed certificate.
func verify(t *testing.T, ca, cert []byte, now time.Time, opts x509.VerifyOptions) *x509.Certificate {
	t.Helper()
	leaf, err := parseCert(cert)
	if err != nil {
		t.Fatal(err)
	}
	opts.Roots = x509.NewCertPool()
	opts.Roots.AppendCertsFromPEM(ca)
	opts.CurrentTime = now
	if _, err := leaf.Verify(opts); err != nil {
		t.Fatal(err)
	}
	return leaf
}

func TestOpenReusesAuthority(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	first := open(t, dir, start)
	second := open(t, dir, start.AddDate(0, 1, 0))
	if !bytes.Equal(first.CAPEM(), second.CAPEM()) {
		t.Error("after a restart: got another CA, want the first one")
	}
	if !first.SigningKey().Equal(second.SigningKey()) {
		t.Error("after a restart: got another token key, want the first one")
	}
	if _, _, err := first.ServingPair(APIServerAltNames(nil)); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got mode %v, want 0600", e.Name(), info.Mode())
		}
		names = append(names, e.Name())
	}
	if want := []string{"apiserver.crt", "apiserver.key", "ca.crt", "ca.key", "sa.key"}; !slices.Equal(names, want) {
		t.Errorf("got files %v, want %v", names, want)
	}
}

// TestServingPairRenewal checks that the serving pair is renewed for new names and before it expires.
func TestServingPairRenewal(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, start)
	certFile, _, err := a.ServingPair(APIServerAltNames(net.IPv4(10, 96, 0, 1), "0.0.0.0", "node.example"))
	if err != nil {
		t.Fatal(err)
	}
	first := read(t, certFile)
	for _, name := range []string{"localhost", "127.0.0.1", "10.96.0.1", "kubernetes.default.svc", "node.example"} {
		verify(t, a.CAPEM(), first, start, x509.VerifyOptions{DNSName: name})
	}
	checkPair := func(reason string, now time.Time, wantChange bool, hosts ...string) {
		t.Helper()
		a := open(t, dir, now)
		if _, _, err := a.ServingPair(APIServerAltNames(net.IPv4(10, 96, 0, 1), hosts...)); err != nil {
			t.Fatal(err)
		}
		if changed := !bytes.Equal(first, read(t, certFile)); changed != wantChange {
			t.Errorf("%s: got a new certificate: %v, want %v", reason, changed, wantChange)
		}
		first = read(t, certFile)
	}
	checkPair("same names", start.AddDate(0, 1, 0), false)
	checkPair("a new address", start, true, "192.0.2.7")
	checkPair("after 91 % of its lifetime", start.AddDate(0, 11, 0), true, "192.0.2.7")
}

func TestRenewedCAVerifiesOldCertificates(t *testing.T) {
	dir := t.TempDir()
	old := open(t, dir, start)
	nearExpiry := start.Add(caLifetime - 200*24*time.Hour)
	old.now = clockAt(nearExpiry)
	cert, _, err := old.ClientPEM(Admin())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := parseCert(cert)
	if err != nil {
		t.Fatal(err)
	}
	if leaf.NotAfter.After(start.Add(caLifetime)) {
		t.Errorf("end of the client certificate: got %v, want at most %v, the end of its CA", leaf.NotAfter, start.Add(caLifetime))
	}
	renewed := open(t, dir, nearExpiry)
	if bytes.Equal(old.CAPEM(), renewed.CAPEM()) {
		t.Fatal("got the first CA certificate, want a new one")
	}
	verify(t, renewed.CAPEM(), cert, nearExpiry, x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

func TestDamagedFilesAreErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		corrupt func(dir string) error
		want    string
	}{
		"missing CA key":         {func(dir string) error { return os.Remove(filepath.Join(dir, "ca.key")) }, "ca.key is missing"},
		"another CA key":         {func(dir string) error { return os.Rename(filepath.Join(dir, "sa.key"), filepath.Join(dir, "ca.key")) }, "does not match"},
		"invalid CA certificate": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "ca.crt"), []byte("x"), 0o600) }, "ca.crt: must start with a PEM block"},
		"invalid token key":      {func(dir string) error { return os.WriteFile(filepath.Join(dir, "sa.key"), []byte("x"), 0o600) }, "sa.key: must contain one PEM block"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			open(t, dir, start)
			if err := tc.corrupt(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir, clockAt(start)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestKubeconfigIsReusedWhileCurrent(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, start)
	path := filepath.Join(dir, "kubeconfig")
	write := func(now time.Time, server string, id Identity) []byte {
		t.Helper()
		a.now = clockAt(now)
		if err := a.Kubeconfig(path, server, id); err != nil {
			t.Fatal(err)
		}
		return read(t, path)
	}
	first := write(start, "https://127.0.0.1:6443", Admin())
	cfg, err := clientcmd.RESTConfigFromKubeConfig(first)
	if err != nil {
		t.Fatal(err)
	}
	leaf := verify(t, cfg.CAData, cfg.CertData, start, x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if leaf.Subject.CommonName != "kubernetes-admin" || !slices.Equal(leaf.Subject.Organization, []string{"system:masters"}) {
		t.Errorf("got subject %v, want CN kubernetes-admin, O system:masters", leaf.Subject)
	}
	if !bytes.Equal(first, write(start.AddDate(0, 1, 0), "https://127.0.0.1:6443", Admin())) {
		t.Error("current kubeconfig: got a change, want none")
	}
	if bytes.Equal(first, write(start, "https://127.0.0.1:7443", Admin())) {
		t.Error("after a change of the server address: got the first kubeconfig, want a new one")
	}
	second := write(start, "https://127.0.0.1:7443", Node("n1"))
	if bytes.Equal(second, write(start.AddDate(0, 11, 0), "https://127.0.0.1:7443", Node("n1"))) {
		t.Error("before the certificate expires: got the first kubeconfig, want a new one")
	}
}
