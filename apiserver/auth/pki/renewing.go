package pki

import (
	"crypto/tls"
	"fmt"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"
)

// RenewingCertificate is a certificate in memory. The methods that return it renew it first if it is due.
// It is a dynamiccertificates.CertKeyContentProvider. It is safe for concurrent use.
type RenewingCertificate struct {
	name  string
	issue func() (certPEM, keyPEM []byte, err error)
	now   func() time.Time

	mu              sync.Mutex
	certPEM, keyPEM []byte
	pair            *tls.Certificate
	listeners       []dynamiccertificates.Listener
}

var _ dynamiccertificates.CertKeyContentProvider = &RenewingCertificate{}

// RenewingServing returns a serving certificate of a component, see ServingPEM.
func (a *Authority) RenewingServing(component string, names AltNames) (*RenewingCertificate, error) {
	return a.newRenewing(component+"-serving", func() ([]byte, []byte, error) { return a.ServingPEM(component, names) })
}

// RenewingClient returns a client certificate, see ClientPEM.
func (a *Authority) RenewingClient(id Identity) (*RenewingCertificate, error) {
	return a.newRenewing(id.Name, func() ([]byte, []byte, error) { return a.ClientPEM(id) })
}

func (a *Authority) newRenewing(name string, issue func() (certPEM, keyPEM []byte, err error)) (*RenewingCertificate, error) {
	r := &RenewingCertificate{name: name, issue: issue, now: a.now}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r, r.renew()
}

// renew replaces the certificate. The caller must hold the lock.
func (r *RenewingCertificate) renew() error {
	certPEM, keyPEM, err := r.issue()
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return fmt.Errorf("certificate %s: %w", r.name, err)
	}
	r.certPEM, r.keyPEM, r.pair = certPEM, keyPEM, &pair
	observe(r.name, pair.Leaf)
	for _, l := range r.listeners {
		l.Enqueue()
	}
	return nil
}

// renewIfDue renews the certificate if it is due. After an error, it keeps the old one. The caller must
// hold the lock.
func (r *RenewingCertificate) renewIfDue() {
	if !needsRenewal(r.pair.Leaf, r.now()) {
		return
	}
	if err := r.renew(); err != nil {
		klog.ErrorS(err, "Failed to renew a certificate; retrying when it is used", "certificate", r.name, "expires", r.pair.Leaf.NotAfter)
	}
}

// Certificate returns the current certificate with its key.
func (r *RenewingCertificate) Certificate() *tls.Certificate {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.renewIfDue()
	return r.pair
}

// AddListener implements dynamiccertificates.Notifier.
func (r *RenewingCertificate) AddListener(l dynamiccertificates.Listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listeners = append(r.listeners, l)
}

// Name implements dynamiccertificates.CertKeyContentProvider.
func (r *RenewingCertificate) Name() string { return r.name }

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider.
func (r *RenewingCertificate) CurrentCertKeyContent() (certPEM, keyPEM []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.renewIfDue()
	return r.certPEM, r.keyPEM
}
