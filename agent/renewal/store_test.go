package renewal

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// newCredential returns a self-signed credential of a node.
func newCredential(t *testing.T, node string) *rest.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: subject(node), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CertData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), KeyData: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}}
}

// TestStoredCredentialIsKept checks that a start with the stored credential does not store it again.
func TestStoredCredentialIsKept(t *testing.T) {
	config, dir := newCredential(t, "n1"), t.TempDir()
	store, err := openStore(dir, "kubelet-client", config)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(store.CurrentPath())
	if err != nil {
		t.Fatal(err)
	}
	modified := slices.Concat(data, []byte("stored first\n"))
	if err := os.WriteFile(store.CurrentPath(), modified, 0o600); err != nil {
		t.Fatal(err)
	}
	if store, err = openStore(dir, "kubelet-client", config); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(store.CurrentPath()); err != nil || !bytes.Equal(got, modified) {
		t.Errorf("stored credential %q, %v, want it unchanged", got, err)
	}
}

// TestStoredCredentialOfAnotherUserIsReplaced checks that the credential of another user replaces a stored one that is
// valid for longer.
func TestStoredCredentialOfAnotherUserIsReplaced(t *testing.T) {
	dir := t.TempDir()
	replacement := newCredential(t, "n2")
	if _, err := openStore(dir, "test", newCredential(t, "n1")); err != nil {
		t.Fatal(err)
	}
	store, err := openStore(dir, "test", replacement)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := store.Current(); err != nil || c.Leaf.Subject.CommonName != subject("n2").CommonName {
		t.Errorf("stored credential %v, %v, want n2", c, err)
	}
}
