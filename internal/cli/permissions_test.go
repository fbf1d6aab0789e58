package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestCredentialNodeFromCertificate checks that an agent determines its node name without
// the API server.
func TestCredentialNodeFromCertificate(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]string{"system:node:n7": "n7", "system:kube-scheduler": ""} {
		c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: user}, NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		config := &rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{CertData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}}
		if got := CredentialNode(t.Context(), config); got != want {
			t.Errorf("the credential of %s: got node %q, want %q", user, got, want)
		}
	}
}
