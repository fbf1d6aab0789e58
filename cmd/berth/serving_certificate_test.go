package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/controllers/componentserver"
	"github.com/berthproject/berth/controllers/componentserver/reviewtest"
	"github.com/berthproject/berth/internal/localcluster"
)

// TestMetricsServerTrust checks that the cluster's CA signs the certificate of a metrics server of berth up. The
// server accepts client certificates that the CA signed.
func TestMetricsServerTrust(t *testing.T) {
	authority, err := pki.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication"},
		Data: map[string]string{"client-ca-file": string(authority.CAPEM())}})
	s := &componentserver.Server{Client: reviewtest.Reviews{Allow: func(_, path string) bool { return path == "/metrics" }}.Client(client),
		Protected: componentserver.NewMux(prometheus.NewRegistry(), nil)}
	if s.Certificate, err = localcluster.ServingCertificate(authority, "test"); err != nil {
		t.Fatal(err)
	}
	base := startMetricsServer(t, s)

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.CAPEM())
	otherAuthority, err := pki.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name      string
		authority *pki.Authority
		identity  pki.Identity
		path      string
		code      int
	}{
		{"administrator", authority, pki.Admin(), "/configz", 200},
		{"authorized user", authority, pki.Scheduler(), "/metrics", 200},
		{"unauthorized user", authority, pki.Scheduler(), "/configz", 403},
		{"another CA", otherAuthority, pki.Admin(), "/metrics", 401},
	} {
		t.Run(tc.name, func(t *testing.T) {
			certPEM, keyPEM, err := tc.authority.ClientPEM(tc.identity)
			if err != nil {
				t.Fatal(err)
			}
			pair, err := tls.X509KeyPair(certPEM, keyPEM)
			if err != nil {
				t.Fatal(err)
			}
			config := &tls.Config{RootCAs: roots, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }}
			for start := time.Now(); ; time.Sleep(10 * time.Millisecond) { // the CA is read in the background
				code, body := getURL(t, config, base+tc.path)
				if code == tc.code {
					return
				}
				if time.Since(start) > 30*time.Second {
					t.Fatalf("%s: got status %d and body %s, want status %d", tc.path, code, body, tc.code)
				}
			}
		})
	}
}

// startMetricsServer starts a server until the test ends, and returns its URL.
func startMetricsServer(t *testing.T, s *componentserver.Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Listener = listener
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); wg.Wait() })
	if err := s.Start(ctx, &wg); err != nil {
		t.Fatal(err)
	}
	return "https://" + listener.Addr().String()
}

func getURL(t *testing.T, config *tls.Config, url string) (int, string) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}
