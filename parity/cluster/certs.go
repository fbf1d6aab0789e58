package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificateAuthority signs the certificates of one cluster.
type certificateAuthority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	next int64
}

func newAuthority(dir string) (*certificateAuthority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &certificateAuthority{dir: dir, key: key, next: 1}
	a.cert = a.template(pkix.Name{CommonName: "berth-parity-ca"})
	a.cert.IsCA, a.cert.BasicConstraintsValid, a.cert.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	return a, a.write("ca", a.cert, key)
}

func (a *certificateAuthority) template(subject pkix.Name) *x509.Certificate {
	a.next++
	return &x509.Certificate{SerialNumber: big.NewInt(a.next), Subject: subject, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
}

// write signs a certificate and writes it and its key to NAME.crt and NAME.key.
func (a *certificateAuthority) write(name string, c *x509.Certificate, key *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	if c == a.cert { // use the parsed certificate as the parent of others
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			return err
		}
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(a.file(name+".crt"), "CERTIFICATE", der); err != nil {
		return err
	}
	return writePEM(a.file(name+".key"), "PRIVATE KEY", raw)
}

func (a *certificateAuthority) file(name string) string { return filepath.Join(a.dir, name) }

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// serving makes the certificate of a server on loopback.
func (a *certificateAuthority) serving(name string) error {
	c := a.template(pkix.Name{CommonName: name})
	c.KeyUsage, c.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	c.IPAddresses, c.DNSNames = []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"}
	return a.issue(name, c)
}

// client makes the certificate of a user.
func (a *certificateAuthority) client(name, user string, groups ...string) error {
	c := a.template(pkix.Name{CommonName: user, Organization: groups})
	c.KeyUsage, c.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(name, c)
}

func (a *certificateAuthority) issue(name string, c *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return a.write(name, c, key)
}

// signing makes the key pair for service account tokens.
func (a *certificateAuthority) signing() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if err := writePEM(a.file("sa.key"), "EC PRIVATE KEY", private); err != nil {
		return err
	}
	return writePEM(a.file("sa.pub"), "PUBLIC KEY", public)
}
