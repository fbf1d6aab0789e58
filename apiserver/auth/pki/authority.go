package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	caLifetime   = 10 * 365 * 24 * time.Hour
	leafLifetime = 365 * 24 * time.Hour
	// backdate is how long before the current time a certificate starts, for clients whose clocks are behind.
	backdate = 5 * time.Minute
)

// Authority is the certificate authority of a cluster. It is safe for concurrent use.
type Authority struct {
	dir        string
	now        func() time.Time
	key        *ecdsa.PrivateKey
	signingKey *ecdsa.PrivateKey // signs service account tokens

	mu   sync.RWMutex
	cert *x509.Certificate
}

// Open loads the authority from dir and creates missing files. now returns the current time; nil
// means time.Now.
func Open(dir string, now func() time.Time) (*Authority, error) {
	if now == nil {
		now = time.Now
	}
	a := &Authority{dir: dir, now: now}
	var err error
	if a.key, err = loadOrCreateKey(a.path("ca.key"), a.exists("ca.crt")); err != nil {
		return nil, err
	}
	if err := a.loadCA(); err != nil {
		return nil, err
	}
	a.signingKey, err = loadOrCreateKey(a.path("sa.key"), false)
	return a, err
}

// OpenExisting loads the authority from dir like Open, but returns an error that wraps
// os.ErrNotExist if there is none.
func OpenExisting(dir string) (*Authority, error) {
	for _, name := range []string{"ca.crt", "ca.key"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("loading the certificate authority: %w", err)
		}
	}
	return Open(dir, nil)
}

// Owns reports whether a CA certificate in PEM form has the key of the authority.
func (a *Authority) Owns(certificate []byte) bool {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return false
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	return err == nil && a.key.PublicKey.Equal(cert.PublicKey)
}

// CAFile returns the path of the CA certificate, which also verifies client certificates.
func (a *Authority) CAFile() string { return a.path("ca.crt") }

// CAPEM returns the CA certificate in PEM form.
func (a *Authority) CAPEM() []byte {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return encodeCert(a.cert.Raw)
}

// SigningKey returns the key that signs service account tokens.
func (a *Authority) SigningKey() *ecdsa.PrivateKey { return a.signingKey }

func (a *Authority) path(name string) string { return filepath.Join(a.dir, name) }

func (a *Authority) exists(name string) bool {
	_, err := os.Stat(a.path(name))
	return err == nil
}

// loadCA reads the CA certificate. If it is missing or due for renewal, loadCA renews it with the
// same key.
func (a *Authority) loadCA() error {
	cert, err := readCert(a.path("ca.crt"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return a.renewCA()
	case err != nil:
		return err
	case !a.key.PublicKey.Equal(cert.PublicKey):
		return fmt.Errorf("%s does not match %s: restore the pair from a backup, or remove both to create a new certificate authority",
			a.path("ca.crt"), a.path("ca.key"))
	}
	a.mu.Lock()
	a.cert = cert
	a.mu.Unlock()
	observe("ca", cert)
	if needsRenewal(cert, a.now()) {
		return a.renewCA()
	}
	return nil
}

func (a *Authority) renewCA() error {
	cert, err := a.signCA("berth-ca", a.key)
	if err != nil {
		return err
	}
	if err := WriteFileAtomic(a.path("ca.crt"), encodeCert(cert.Raw)); err != nil {
		return err
	}
	a.mu.Lock()
	a.cert = cert
	a.mu.Unlock()
	observe("ca", cert)
	return nil
}

// signCA returns a self-signed CA certificate for key.
func (a *Authority) signCA(name string, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	now := a.now()
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(caLifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{name},
	}
	cert, err := sign(template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("creating the CA certificate %s: %w", name, err)
	}
	return cert, nil
}

// issue signs a leaf certificate for pub. The certificate expires no later than the CA certificate.
func (a *Authority) issue(template *x509.Certificate, pub *ecdsa.PublicKey) (*x509.Certificate, error) {
	a.mu.RLock()
	ca := a.cert
	a.mu.RUnlock()
	return a.issueFrom(ca, a.key, template, pub)
}

// issueFrom signs a leaf certificate for pub with a CA and its key.
func (a *Authority) issueFrom(ca *x509.Certificate, key *ecdsa.PrivateKey, template *x509.Certificate, pub *ecdsa.PublicKey) (*x509.Certificate, error) {
	now := a.now()
	template.NotBefore = now.Add(-backdate)
	template.NotAfter = now.Add(leafLifetime)
	if template.NotAfter.After(ca.NotAfter) {
		template.NotAfter = ca.NotAfter
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	return sign(template, ca, pub, key)
}

func sign(template, parent *x509.Certificate, pub any, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial.Add(serial, big.NewInt(1)) // RFC 5280 requires a positive serial number
	der, err := x509.CreateCertificate(rand.Reader, template, parent, pub, key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// needsRenewal reports whether a share of 70 to 90 % of the certificate's lifetime has passed. The
// random serial number determines the share, so that certificates of the same day are renewed at
// different times.
func needsRenewal(cert *x509.Certificate, now time.Time) bool {
	const steps = 1000
	step := new(big.Int).Mod(cert.SerialNumber, big.NewInt(steps)).Int64()
	lifetime := cert.NotAfter.Sub(cert.NotBefore)
	return now.Sub(cert.NotBefore) > lifetime/10*7+lifetime/5/steps*time.Duration(step)
}

// loadOrCreateKey reads the key at path and creates it if it is missing. If required is set, a
// missing file is an error: its certificate still exists.
func loadOrCreateKey(path string, required bool) (*ecdsa.PrivateKey, error) {
	key, err := readKey(path)
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return key, err
	}
	if required {
		return nil, fmt.Errorf("%s is missing although its certificate exists: restore it from a backup, or remove the certificate too", path)
	}
	if key, err = newKey(); err != nil {
		return nil, err
	}
	data, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	return key, WriteFileAtomic(path, data)
}

func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}
