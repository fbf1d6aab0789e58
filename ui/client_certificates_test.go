package ui

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestClientCertificateNamesTheUser checks that the API server gets the user of a verified certificate, and that nothing
// else in the request names one.
func TestClientCertificateNamesTheUser(t *testing.T) {
	api := newAPIServer(t)
	roots := x509.NewCertPool()
	ca, caKey := certificate(t, "ca", nil, nil)
	roots.AddCert(ca)
	stranger, strangerKey := certificate(t, "ca", nil, nil)
	s := newPageWith(t, Options{Cluster: &rest.Config{Host: api.URL}, Answers: newAnswers(), ClientCertificates: &ClientCertificates{
		Verify: func() (x509.VerifyOptions, bool) {
			return x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, true
		},
		FrontProxy: &rest.Config{Host: api.URL},
	}})
	send := func(cert *x509.Certificate, headers ...string) int {
		api.header = nil
		r := httptest.NewRequest(http.MethodGet, "https://"+host+"/ui/cluster/api/v1/pods", nil)
		if cert != nil {
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}
		}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	ann, _ := certificate(t, "ann", ca, caKey)
	send(ann, "X-Remote-User", "admin", "X-Remote-Group", "system:masters")
	if api.header == nil || api.header.Get("X-Remote-User") != "ann" || len(api.header.Values("X-Remote-User")) != 1 {
		t.Errorf("the API server got user %q, want ann", api.header.Values("X-Remote-User"))
	}
	if got := api.header.Values("X-Remote-Group"); len(got) != 1 || got[0] != "team" {
		t.Errorf("the API server got groups %q, want team", got)
	}
	if code := send(ann, "Authorization", "Bearer good"); code != http.StatusOK || api.header.Get("X-Remote-User") != "" {
		t.Errorf("certificate and token: got status %d and user %q, want 200 with the token alone", code, api.header.Get("X-Remote-User"))
	}
	forged, _ := certificate(t, "ann", stranger, strangerKey)
	nameless, _ := certificate(t, "", ca, caKey)
	for name, cert := range map[string]*x509.Certificate{"no certificate": nil, "another CA": forged, "no name": nameless} {
		if code := send(cert); code != http.StatusUnauthorized || api.header != nil {
			t.Errorf("%s: got status %d and a request of %q to the API server, want 401 without a request", name, code, api.header.Get("X-Remote-User"))
		}
	}
}

// certificate returns a client certificate of group team, signed by parent, or a CA without a parent.
func certificate(t *testing.T, name string, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name, Organization: []string{"team"}},
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if parent == nil {
		template.IsCA, template.BasicConstraintsValid, template.ExtKeyUsage = true, true, nil
		parent, parentKey = template, key
	}
	data, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(data)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}
